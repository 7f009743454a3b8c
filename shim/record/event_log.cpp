#include "shim/record/event_log.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/file_failure.hpp"
#include "base/message.hpp"

namespace aoti_dbg {

Result<std::unique_ptr<EventLog>> EventLog::create(const std::string& folder) {
    // Several processes, or consecutive runs, may share a folder.
    std::string path = folder + "/events.jsonl";
    if (access(path.c_str(), F_OK) == 0) path = folder + "/events-" + std::to_string(getpid()) + ".jsonl";
    Result<PreallocatedFile> file = PreallocatedFile::create(path);
    if (!file.ok()) return file.status();
    return std::unique_ptr<EventLog>(new EventLog(MappedText(std::move(file.value()))));
}

void EventLog::append(std::string_view lines) {
    if (!is_over_) {
        const Status appended = text_.append(lines.data(), lines.size());
        if (appended.ok()) return;
        is_over_ = true;
        message(Severity::warn, "%s. No more events are recorded. %s", appended.message().c_str(),
                remedy_for(appended, "AOTI_DBG_OUT", PlaceKind::directory).c_str());
    }
    const auto count = static_cast<std::uint64_t>(std::count(lines.begin(), lines.end(), '\n'));
    lost_.fetch_add(count, std::memory_order_relaxed);
}

void EventLog::close() {
    if (is_closed_) return;
    is_closed_ = is_over_ = true;
    if (const Status cut = text_.cut(); !cut.ok())
        message(Severity::warn, "%s. The file ends in blank lines.", cut.message().c_str());
}

}  // namespace aoti_dbg
