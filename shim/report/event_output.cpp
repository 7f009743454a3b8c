#include "shim/report/event_output.hpp"

#include "shim/report/event_log.hpp"
#include "shim/report/line_log.hpp"

namespace aoti_dbg {

EventOutput::EventOutput(EventLog* events, LineLog* log, EventFormat format, bool colour)
    : events_(events), log_(log), format_(format), compact_(colour) {}

/// To wherever JSON goes; `json_lines_` is empty afterwards.
void EventOutput::write_json() {
    if (events_ != nullptr) events_->append(json_lines_);
    if (log_ != nullptr && format_ == EventFormat::jsonl) log_->write(json_lines_.data(), json_lines_.size());
    json_lines_.clear();
}

void EventOutput::header(const HeaderFacts& header) {
    JsonlRenderer::render_header(header, json_lines_);
    write_json();
}

void EventOutput::model(const ModelFacts& model) {
    JsonlRenderer::render_model(model, json_lines_);
    write_json();
}

void EventOutput::coverage(std::span<const NamedCount> counts) {
    JsonlRenderer::render_coverage(counts, json_lines_);
    write_json();
}

void EventOutput::call(const MeasuredCall& call) {
    if (events_ != nullptr || format_ == EventFormat::jsonl) {
        jsonl_.render(call, json_lines_);
        write_json();
    }
    if (log_ == nullptr || format_ == EventFormat::jsonl) return;
    log_lines_.clear();
    if (format_ == EventFormat::text) {
        text_.render(call, log_lines_);
    } else {
        compact_.render(call, log_lines_);
    }
    if (!log_lines_.empty()) log_->write(log_lines_.data(), log_lines_.size());
}

void EventOutput::other(std::string_view json_line, std::string_view text) {
    json_lines_ += json_line;
    write_json();
    if (log_ != nullptr && format_ != EventFormat::jsonl && !text.empty())
        log_->write(text.data(), text.size());
}

}  // namespace aoti_dbg
