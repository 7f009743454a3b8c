// See memory_facts.hpp.
#include "triage/gather/memory_facts.hpp"

#include <unistd.h>

#include <charconv>
#include <string>
#include <string_view>

#include "base/mapped_file.hpp"
#include "base/words.hpp"
#include "serializer/tensor_map.hpp"
#include "triage/judge/fault_words.hpp"

namespace aoti_dbg {
namespace {

/// Reads hexadecimal digits with or without 0x; 0: unknown.
std::uint64_t address_of(const PlacedAccess& access) {
    std::string_view text = access.address;
    if (text.substr(0, 2) == "0x") text.remove_prefix(2);
    std::uint64_t address = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), address, 16);
    return read.ec == std::errc() && read.ptr == text.data() + text.size() ? address : 0;
}

/// Excludes driver calls, because their own error says that memory ran out.
bool may_want_memory(const ring::Record& record) {
    const bool is_left = (record.flags & ring::kUnwoundByException) != 0;
    return !ring::returns_cuda_error(record.kind) && (record.result != 0 || is_left);
}

std::optional<Shortage> shortage_of(const AllocationMap& map, const ReportedCalls& calls,
                                    const Evidence& evidence) {
    if (!calls.failed) {
        // Programs also allocate outside of calls, such as when they load models.
        const bool has_ended = evidence.in_flight.empty() && !evidence.device && !evidence.hang;
        return has_ended ? shortage_at_end(map, calls.last ? calls.last->record->seq : 0) : std::nullopt;
    }
    const ring::Record& record = *calls.failed->record;
    if (!may_want_memory(record)) return std::nullopt;
    return shortage_in(map, calls.failed->thread->tid, record.begin_ticks, record.end_ticks);
}

/// Adds the tensors at the address, if the process kept a map of them.
void add_tensors(const RecordedProcess& process, std::uint64_t address, const LaunchMoment& launch,
                 Evidence& evidence) {
    const std::optional<TensorMap> map = tensor_map_of(process, evidence.notes);
    if (!map) return;
    evidence.notes.insert(evidence.notes.end(), map->notes.begin(), map->notes.end());
    for (NearMemory& near : evidence.allocations)
        add_near_tensors(*map, address, launch, near);
}

}  // namespace

std::optional<TensorMap> tensor_map_of(const RecordedProcess& process, std::vector<std::string>& notes) {
    const std::string path = tensors_path(process.ring);
    if (access(path.c_str(), F_OK) != 0) return std::nullopt;
    const Result<MappedFile> file = MappedFile::open(path);
    if (!file.ok()) {
        notes.push_back(file.status().message());
        return std::nullopt;
    }
    Result<TensorMap> map = parse_tensor_map(file.value().text());
    if (!map.ok()) notes.push_back(path + ": " + map.status().message());
    // A map with another pid belongs to an older process, whose ring had the same name.
    if (!map.ok() || map.value().header.pid != process.pid) return std::nullopt;
    return std::move(map.value());
}

void add_memory_facts(const RecordedProcess& process, const ReportedCalls& calls, Evidence& evidence) {
    const std::string path = allocations_path(process.ring);
    // Processes without a device have no map.
    if (access(path.c_str(), F_OK) != 0) return;
    const Result<AllocationMap> read = read_allocation_map(path);
    if (!read.ok()) {
        evidence.notes.push_back(read.status().message());
        return;
    }
    const AllocationMap& map = read.value();
    if (map.header.pid != process.pid) return;  // from an older process, whose ring had the same name
    evidence.notes.insert(evidence.notes.end(), map.notes.begin(), map.notes.end());
    evidence.shortage = shortage_of(map, calls, evidence);
    const std::uint64_t address = address_of(place_access(evidence));
    if (address == 0) return;
    LaunchMoment launch;
    if (calls.faulted) launch = {calls.faulted->record->seq, calls.faulted->record->begin_ticks};
    evidence.allocations = near_memory(map, address, launch);
    add_tensors(process, address, launch, evidence);
    if (map.header.lost != 0)
        evidence.notes.push_back("the allocation map was full: " + counted(map.header.lost, "allocation") +
                                 (map.header.lost == 1 ? " is missing" : " are missing"));
}

}  // namespace aoti_dbg
