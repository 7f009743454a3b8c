// See driver_lines.hpp.
#include "triage/gather/driver_lines.hpp"

#include <unistd.h>

#include <algorithm>

#include "serializer/driver_log.hpp"

namespace aoti_dbg {
namespace {

bool is_inside(const DriverLine& line, const ring::Call& call) {
    const ring::Record& record = *call.record;
    return line.thread == call.thread->tid && line.ticks >= record.begin_ticks &&
           (record.end_ticks == 0 || line.ticks <= record.end_ticks);
}

}  // namespace

void add_driver_lines(const RecordedProcess& process, const std::vector<ring::Call>& calls,
                      Evidence& evidence) {
    const std::string path = driver_log_path(process.ring);
    // Older drivers log nothing, and most programs make no call that fails.
    if (access(path.c_str(), F_OK) != 0) return;
    Result<DriverLog> read = read_driver_log(path);
    if (!read.ok()) {
        evidence.notes.push_back(read.status().message());
        return;
    }
    DriverLog& log = read.value();
    if (log.header.pid != process.pid) return;  // from an older process, whose ring had the same name
    evidence.notes.insert(evidence.notes.end(), log.notes.begin(), log.notes.end());
    for (DriverLine& line : log.lines) {
        const auto has_it = [&line](const ring::Call& call) { return is_inside(line, call); };
        if (std::any_of(calls.begin(), calls.end(), has_it)) evidence.driver_lines.push_back(std::move(line));
    }
}

}  // namespace aoti_dbg
