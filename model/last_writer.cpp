#include "model/last_writer.hpp"

#include <algorithm>

namespace aoti_dbg {
namespace {

bool is_input(const WrapperInfo& info, std::string_view name) {
    return std::find(info.inputs.begin(), info.inputs.end(), name) != info.inputs.end();
}

/// The original name of a piece of memory, and whether the tensor is a part of it.
struct Memory {
    std::string_view name;
    bool is_view = false;
};

/// Resolves `name` at call site `site`. Later names do not count.
Memory memory_of(const WrapperInfo& info, std::string_view name, std::uint32_t site) {
    Memory memory{name};
    const std::vector<SharedMemory>& all = info.run.shared_memory;
    // Each entry follows the one that it refers to, so one backward pass resolves them all.
    for (auto shared = all.rbegin(); shared != all.rend(); ++shared) {
        if (shared->from > site || shared->name != memory.name) continue;
        // A misaligned input is replaced by a copy of what the caller wrote.
        if (is_input(info, memory.name)) break;
        memory.name = shared->of;
        memory.is_view |= shared->how == SharedMemory::How::view;
    }
    return memory;
}

enum class Does : std::uint8_t { nothing, perhaps, writes };

/// Returns what a call does to the memory.
Does does_to(const WrapperInfo& info, std::uint32_t site, const Memory& memory) {
    Does most = Does::nothing;
    for (const Argument& argument : info.run.sites[site].arguments) {
        if (argument.role == Role::reads) continue;
        for (const TensorName& tensor : argument.tensors) {
            const Memory given = memory_of(info, tensor.name, site);
            if (given.name != memory.name) continue;
            const bool is_whole = !given.is_view && !memory.is_view && !tensor.view;
            const bool is_certain = is_whole && argument.role != Role::unknown;
            most = std::max(most, is_certain ? Does::writes : Does::perhaps);
        }
    }
    return most;
}

}  // namespace

LastWriter last_writer(const WrapperInfo& info, const std::vector<std::uint32_t>& calls,
                       std::string_view name) {
    LastWriter writer;
    if (calls.empty() || calls.back() >= info.run.sites.size()) return writer;
    const Memory memory = memory_of(info, name, calls.back());
    for (std::size_t i = calls.size() - 1; i-- > 0;) {
        if (calls[i] >= info.run.sites.size()) {
            writer.is_likely = true;  // it may be the writer
            continue;
        }
        const Does does = does_to(info, calls[i], memory);
        if (does == Does::nothing) continue;
        writer.kind = LastWriter::Kind::call;
        writer.call = i;
        writer.is_likely |= does == Does::perhaps;
        return writer;
    }
    const auto is_it = [&memory](const auto& one) { return one.name == memory.name; };
    if (const auto constant = std::find_if(info.constants.begin(), info.constants.end(), is_it);
        constant != info.constants.end()) {
        writer.kind = LastWriter::Kind::constant;
        writer.constant = constant->original_fqn.empty() ? constant->name : constant->original_fqn;
    } else if (is_input(info, memory.name)) {
        writer.kind = LastWriter::Kind::input;
    } else if (!writer.is_likely &&
               std::any_of(info.run.allocations.begin(), info.run.allocations.end(), is_it)) {
        writer.kind = LastWriter::Kind::no_call;
    }
    return writer;
}

}  // namespace aoti_dbg
