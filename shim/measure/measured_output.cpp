#include "shim/measure/measured_output.hpp"

#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <utility>

#include "base/file_failure.hpp"
#include "base/message.hpp"
#include "serializer/finding.hpp"
#include "shim/calls/models.hpp"
#include "shim/record/line_log.hpp"
#include "shim/runtime/clock.hpp"
#include "shim/runtime/process_tree.hpp"

namespace aoti_dbg {
namespace {

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

MeasuredOutput::MeasuredOutput(const Options& options, const std::string& folder, LineLog* log)
    : on_finding_(options.on_finding),
      remembers_runs_(on_finding_ == OnFinding::raise || options.save_on == SaveOn::finding),
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
    if (!facts.path.empty()) output_.model(facts);
}

void MeasuredOutput::take(const MeasuredCall& call, bool printed, const Check& check) {
    introduce(call.model);
    if (printed) output_.call(call);
    if (!check.values()) return;
    fresh_.clear();
    const bool found = findings_.take(call, check, fresh_);
    report_fresh();
    if (found) act_on_finding(call.run);
}

void MeasuredOutput::take(Finding finding) {
    introduce(finding.model);
    fresh_.clear();
    const std::optional<std::uint32_t> run =
        finding.is_of_the_past ? std::nullopt : std::optional(finding.run);
    const bool found = findings_.take(std::move(finding), fresh_);
    report_fresh();
    if (found) act_on_finding(run);
}

void MeasuredOutput::report_fresh() {
    for (const Finding& finding : fresh_)
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
    if (remembers_runs_ && run) {
        const std::lock_guard lock(found_mutex_);
        found_in_.insert(*run);
    }
}

void MeasuredOutput::report(const Finding& finding) {
    json_.clear();
    text_.clear();
    append_finding_json(finding, json_);
    append_finding_text(finding, text_);
    output_.other(json_, text_);
}

bool MeasuredOutput::takes_found_in(std::uint32_t run) {
    const std::lock_guard lock(found_mutex_);
    return found_in_.erase(run) != 0;
}

void MeasuredOutput::close(std::span<const NamedCount> coverage) {
    output_.coverage(coverage);
    if (events_) events_->close();
}

}  // namespace aoti_dbg
