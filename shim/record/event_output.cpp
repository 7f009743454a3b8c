#include "shim/record/event_output.hpp"

#include <unistd.h>

#include <cstdlib>

#include "config/pattern.hpp"
#include "shim/record/event_log.hpp"
#include "shim/record/line_log.hpp"
#include "shim/runtime/clock.hpp"
#include "shim/runtime/process_tree.hpp"

namespace aoti_dbg {
namespace {

// This size stays in the cache until it is written, and needs few system calls.
constexpr std::size_t kMuch = std::size_t{64} * 1024;

}  // namespace

HeaderFacts header_facts() {
    HeaderFacts header;
    header.pid = static_cast<std::uint64_t>(getpid());
    header.command = command_line();
    char host[256] = "";
    if (gethostname(host, sizeof host - 1) == 0) header.host = host;
    if (const char* rank = rank_of(::getenv); rank != nullptr) header.rank = rank;
    header.start_ns = unix_nanoseconds();
    header.library = AOTI_DBG_VERSION;
    return header;
}

EventOutput::EventOutput(EventLog* events, LineLog* log, OutputFormat format, bool colour)
    : events_(events), log_(log), format_(format), compact_(colour) {}

void EventOutput::flush() {
    bool is_printed = true;
    if (!json_lines_.empty()) {
        if (events_ != nullptr) events_->append(json_lines_);
        if (is_json_log()) is_printed = log_->write(json_lines_.data(), json_lines_.size());
        json_lines_.clear();
    }
    if (log_ != nullptr && !log_lines_.empty()) {
        is_printed = log_->write(log_lines_.data(), log_lines_.size());
        log_lines_.clear();
    }
    if (is_printed) printed_.fetch_add(gathered_calls_, std::memory_order_relaxed);
    gathered_calls_ = 0;
}

void EventOutput::header(const HeaderFacts& header) {
    if (has_json()) JsonlRenderer::render_header(header, json_lines_);
    flush();
}

void EventOutput::model(const ModelFacts& model) {
    if (has_json()) JsonlRenderer::render_model(model, json_lines_);
    if (has_text() && model.compiled) append_model_text(model.number, *model.compiled, log_lines_);
    flush();
}

void EventOutput::coverage(std::span<const NamedCount> counts) {
    if (has_json()) JsonlRenderer::render_coverage(counts, json_lines_);
    flush();
}

void EventOutput::call(const MeasuredCall& call) {
    const bool is_printed = log_ != nullptr && format_ != OutputFormat::none;
    if (is_printed && first_events_.is_first(call)) ++gathered_calls_;
    if (has_json()) jsonl_.render(call, json_lines_);
    if (is_printed && format_ == OutputFormat::text) text_.render(call, log_lines_);
    if (is_printed && format_ == OutputFormat::compact) compact_.render(call, log_lines_);
    if (json_lines_.size() >= kMuch || log_lines_.size() >= kMuch) flush();
}

void EventOutput::other(std::string_view json_line, std::string_view text) {
    if (has_json()) json_lines_ += json_line;
    if (has_text()) log_lines_ += text;
    flush();
}

}  // namespace aoti_dbg
