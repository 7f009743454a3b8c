#include "shim/findings/measured_output.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/file_failure.hpp"
#include "base/message.hpp"
#include "base/shell_text.hpp"
#include "serializer/finding.hpp"
#include "shim/calls/compiled_model.hpp"
#include "shim/calls/coverage_line.hpp"
#include "shim/calls/models.hpp"
#include "shim/calls/session.hpp"
#include "shim/record/line_log.hpp"
#include "shim/runtime/deadline_lock.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {
namespace {

constexpr std::size_t kMostRemembered = 256;  // runs

std::unique_ptr<EventLog> open_events(const std::string& folder) {
    if (folder.empty()) return nullptr;
    Result<std::unique_ptr<EventLog>> events = EventLog::create(folder);
    if (events.ok()) return std::move(events.value());
    message(Severity::warn, "%s. No events are recorded. %s", events.status().message().c_str(),
            remedy_for(events.status(), "AOTI_DBG_OUT", PlaceKind::directory).c_str());
    return nullptr;
}

bool is_coloured(const Options& options) {
    if (options.log != "stderr" && options.log != "stdout") return false;
    if (const char* unwanted = getenv("NO_COLOR"); unwanted != nullptr && *unwanted != '\0') return false;
    return isatty(options.log == "stderr" ? STDERR_FILENO : STDOUT_FILENO) == 1;
}

}  // namespace

MeasuredOutput::MeasuredOutput(const Options& options, const std::string& folder, LineLog* log)
    : on_finding_(options.on_finding),
      remembers_all_(on_finding_ == OnFinding::raise || options.save_on == SaveOn::finding),
      events_(open_events(folder)),
      output_(events_.get(), log, options.format, is_coloured(options)),
      findings_(options.suppress) {
    output_.header(header_facts());
}

void MeasuredOutput::introduce(std::uint32_t model) {
    if (!introduced_.insert(model).second) return;
    ModelFacts facts;
    facts.number = model;
    facts.path = model_path(static_cast<std::uint16_t>(model));
    const std::size_t slash = facts.path.rfind('/');
    facts.name = facts.path.substr(slash == std::string::npos ? 0 : slash + 1);
    if (const CompiledModel* const compiled = compiled_model(static_cast<std::uint16_t>(model))) {
        facts.compiled = compiled->function;
        facts.name = title_of(*facts.compiled);
    }
    if (!facts.path.empty()) output_.model(facts);
}

void MeasuredOutput::take(const MeasuredCall& call, bool printed, const Check& check) {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return;
    introduce(call.model);
    if (printed) output_.call(call);
    if (!check.values()) return;
    fresh_.clear();
    const bool found = findings_.take(call, check, fresh_);
    report_fresh();
    if (found) act_on_finding(call.run);
}

void MeasuredOutput::take_both(const MeasuredCall& after, std::span<const MeasuredArgument> before_arguments,
                               std::span<const MeasuredArgument> after_arguments, const Check& check) {
    MeasuredCall side = after;
    side.side = EventSide::before;
    side.arguments = before_arguments;
    take(side, false, check);
    both_.assign(after_arguments.begin(), after_arguments.end());
    for (const MeasuredArgument& argument : before_arguments) {
        const auto is_same = [&](const MeasuredArgument& other) { return other.facts == argument.facts; };
        if (std::none_of(after_arguments.begin(), after_arguments.end(), is_same)) both_.push_back(argument);
    }
    std::stable_sort(both_.begin(), both_.end(),
                     [](const MeasuredArgument& one, const MeasuredArgument& other) {
                         return one.facts->position < other.facts->position;
                     });
    side.side = EventSide::after;
    side.arguments = both_;
    take(side, false, check);
}

void MeasuredOutput::take(Finding finding) {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return;
    introduce(finding.model);
    fresh_.clear();
    const std::optional<std::uint32_t> run =
        finding.is_of_the_past ? std::nullopt : std::optional(finding.run);
    const bool found = findings_.take(std::move(finding), fresh_);
    report_fresh();
    if (found) act_on_finding(run);
}

void MeasuredOutput::report_fresh() {
    for (Finding& finding : fresh_)
        report(finding);
}

void MeasuredOutput::act_on_finding(std::optional<std::uint32_t> run) {
    if (on_finding_ == OnFinding::abort) {
        output_.flush();
        if (events_) events_->close();
        error_message(ErrorCode::aborted_on_finding,
                      "AOTI_DBG_ON_FINDING=abort: aborting the program after a finding.");
        abort();
    }
    if (!run) return;
    const std::lock_guard lock(found_mutex_);
    found_in_.emplace(*run, findings_.sentence());
    // In other modes, callers only ask about runs that just failed on their own.
    if (!remembers_all_ && found_in_.size() > kMostRemembered) found_in_.erase(found_in_.begin());
}

void MeasuredOutput::report(Finding& finding) {
    const std::string launch =
        launches_ == nullptr ? std::string() : launches_->file_of(finding.run, finding.call);
    if (!launch.empty()) finding.replay = "aoti-dbg replay " + shell_text({launch});
    json_.clear();
    text_.clear();
    append_finding_json(finding, json_);
    append_finding_text(finding, text_);
    output_.other(json_, text_);
}

std::optional<std::string> MeasuredOutput::take_found_in(std::uint32_t run) {
    const std::lock_guard lock(found_mutex_);
    auto found = found_in_.extract(run);
    return found.empty() ? std::nullopt : std::optional(std::move(found.mapped()));
}

void MeasuredOutput::flush() {
    const std::lock_guard lock(mutex_);
    if (!is_closed_) output_.flush();
}

void MeasuredOutput::finish() {
    is_stuck_ = !lock_with_deadline(mutex_);
    if (is_stuck_) return;
    const std::lock_guard lock(mutex_, std::adopt_lock);
    if (!is_closed_) output_.flush();
    is_closed_ = true;
}

void MeasuredOutput::append_coverage(CoverageLine& line) const {
    const FindingCounts& counts = findings_.counts();
    if (const FindingSummary summary(counts); *summary.text() != '\0') {
        line.text("; ");
        line.text(summary.text());
    }
    line.name("findings", counts.findings.load());
    if (events_ == nullptr) return;
    line.loss(events_->lost(), "event lost", "events lost");
    line.file("events", events_->path(), CoverageLine::Section::more_files);
}

void MeasuredOutput::close(std::span<const NamedCount> counts) {
    if (is_stuck_) return;
    output_.coverage(counts);
    if (events_) events_->close();
}

void report_finding(Finding finding) {
    const Session* const session = wiped_page().session.load(std::memory_order_acquire);
    MeasuredOutput* const output = session == nullptr ? nullptr : session->part<MeasuredOutput>();
    if (output != nullptr) output->take(std::move(finding));
}

}  // namespace aoti_dbg
