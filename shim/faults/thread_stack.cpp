#include "shim/faults/thread_stack.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/descriptor.hpp"

namespace aoti_dbg {
namespace {

constexpr std::size_t kMostBytes = 256 << 10;

/// Returns the length of `FF /2` with this ModRM byte, a call through a register or memory. Returns 0 for any
/// other instruction.
std::size_t length_of_indirect_call(unsigned char modrm) {
    constexpr unsigned kCall = 2;
    constexpr unsigned kScaled = 4;
    constexpr unsigned kRelative = 5;
    if (((modrm >> 3U) & 7U) != kCall) return 0;
    const unsigned mode = modrm >> 6U;
    const unsigned base = modrm & 7U;
    if (mode == 3) return 2;
    const std::size_t scaled = base == kScaled ? 1 : 0;
    if (mode == 0) return base == kRelative ? 6 : 2 + scaled;
    return (mode == 1 ? 3 : 6) + scaled;
}

/// Reads memory of this process that may be unmapped meanwhile. Unmapped memory reads as nothing.
class OwnMemory {
  public:
    OwnMemory() : file_(open("/proc/self/mem", O_RDONLY | O_CLOEXEC)) {}
    std::size_t read(std::uint64_t address, void* to, std::size_t bytes) const {
        if (file_.number() < 0) return 0;
        const ssize_t got = pread(file_.number(), to, bytes, static_cast<off_t>(address));
        return got > 0 ? static_cast<std::size_t>(got) : 0;
    }

  private:
    Descriptor file_;
};

}  // namespace

bool ends_with_call(std::span<const unsigned char, 7> code) {
    constexpr unsigned char kRelativeCall = 0xe8;
    constexpr unsigned char kIndirect = 0xff;
    if (code[2] == kRelativeCall) return true;
    for (std::size_t length = 2; length <= code.size(); ++length) {
        const std::size_t at = code.size() - length;
        if (code[at] == kIndirect && length_of_indirect_call(code[at + 1]) == length) return true;
    }
    return false;
}

std::vector<std::string> callers_above(std::uintptr_t stack, const MemoryMap& map) {
    std::vector<std::string> callers;
    const Mapping* const here = map.find(stack);
    if (stack == 0 || here == nullptr) return callers;
    const OwnMemory memory;
    stack = (stack + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t) * sizeof(std::uint64_t);
    std::vector<unsigned char> bytes(std::min<std::size_t>(here->end - stack, kMostBytes));
    bytes.resize(memory.read(stack, bytes.data(), bytes.size()));
    for (std::size_t at = 0; at + sizeof(std::uint64_t) <= bytes.size() && callers.size() < kMostCallers;
         at += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, &bytes[at], sizeof word);
        unsigned char code[7];
        const Mapping* const file = map.find(word - 1);
        if (file == nullptr || !file->is_code || file->path.empty() || file->path.front() != '/') continue;
        if (memory.read(word - sizeof code, code, sizeof code) != sizeof code || !ends_with_call(code))
            continue;
        // The address is in the call instruction, so it has the line and function of the call.
        callers.push_back(file->place_of(word - 1, true));
    }
    return callers;
}

}  // namespace aoti_dbg
