// See names_output.hpp. The path of level 3 must not make a system call or allocate when it writes to a file,
// except at the first call of a model.
#include "shim/measure/names_output.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "serializer/event_text.hpp"
#include "shim/calls/compiled_model.hpp"
#include "shim/calls/session.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/measure/measuring.hpp"
#include "shim/runtime/names.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {
namespace {

constexpr std::size_t kIndent = 2;  // blanks per level of nested calls
constexpr std::size_t kMostBlanks = 40;

/// Returns whether the line is in the log.
[[gnu::noinline]] bool print_nested_line(LineLog& log, const std::string& line, std::uint32_t nesting) {
    char text[2048];
    const std::size_t blanks = std::min<std::size_t>(nesting * kIndent, kMostBlanks);
    const std::size_t length = std::min(line.size(), sizeof text - kMostBlanks);
    memset(text, ' ', kMostBlanks);  // a fixed size takes a few stores
    memcpy(text + blanks, line.data(), length);
    return log.write(text, blanks + length);
}

/// Announces the functions of torch.compile, because their models have no names of their own.
[[gnu::noinline]] void introduce_model(ThreadState& state, LineLog& log, std::uint16_t number) {
    state.introduced_model = number;
    CompiledModel* const model = compiled_model(number);
    if (model == nullptr || model->is_introduced.load(std::memory_order_relaxed)) return;
    if (model->is_introduced.exchange(true)) return;
    std::string line;
    append_model_text(number, model->function, line);
    log.write(line.data(), line.size());
}

}  // namespace

[[gnu::hot]] void show_name(ThreadState& state, OpenCall& call, When when) {
    if (measuring()) return report_name(state, call, when);
    LineLog* const log = state.session->log();
    if (log == nullptr) return;
    if (call.model != state.introduced_model) [[unlikely]]
        introduce_model(state, *log, call.model);
    const std::string& line = when == When::before ? call.name->before_line : call.name->after_line;
    const bool is_written = call.nesting == 0 ? log->write(line.data(), line.size())
                                              : print_nested_line(*log, line, call.nesting);
    if (!is_written || call.is_printed) return;
    call.is_printed = true;
    state.counts.printed.raise();
}

}  // namespace aoti_dbg
