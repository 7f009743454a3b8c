// See names_output.hpp. The path of level 3 must not make a system call or allocate when it writes to a file,
// except at the first call of a model.
#include "shim/measure/names_output.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "serializer/event_text.hpp"
#include "shim/calls/calls.hpp"
#include "shim/calls/compiled_model.hpp"
#include "shim/calls/session.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/measure/measuring.hpp"
#include "shim/runtime/names.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {
namespace {

constexpr std::size_t kIndent = 2;  // blanks per level of nested calls

/// Returns whether the line is in the log.
bool print_line(ThreadState& state, const std::string& line, std::uint32_t nesting) {
    LineLog* log = state.session->log();
    if (log == nullptr) return false;
    if (nesting == 0) return log->write(line.data(), line.size());
    char text[2048];
    const std::size_t blanks = std::min<std::size_t>(nesting * kIndent, 40);
    const std::size_t length = std::min(line.size(), sizeof text - blanks);
    memset(text, ' ', blanks);
    memcpy(text + blanks, line.data(), length);
    return log->write(text, blanks + length);
}

/// Announces the functions of torch.compile, because their models have no names of their own.
void introduce_model(const ThreadState& state, std::uint16_t number) {
    CompiledModel* const model = compiled_model(number);
    LineLog* const log = state.session->log();
    if (model == nullptr || log == nullptr || model->is_introduced.load(std::memory_order_relaxed)) return;
    if (model->is_introduced.exchange(true)) return;
    std::string line;
    append_model_text(number, model->function, line);
    log->write(line.data(), line.size());
}

}  // namespace

void show_name(ThreadState& state, OpenCall& call, When when) {
    if (measuring()) return report_name(state, call, when);
    introduce_model(state, call.model);
    const std::string& line = when == When::before ? call.name->before_line : call.name->after_line;
    if (!print_line(state, line, nesting_of(state)) || call.is_printed) return;
    call.is_printed = true;
    state.counts.printed.raise();
}

}  // namespace aoti_dbg
