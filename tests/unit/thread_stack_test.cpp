#include "shim/faults/thread_stack.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>

#include "tests/support/catch.hpp"
#include "triage/gather/caller_names.hpp"

namespace aoti_dbg::thread_stack_test {
namespace {

using Code = std::array<unsigned char, 7>;

bool is_call(std::vector<unsigned char> end) {
    Code code{};
    code.fill(0x90);
    std::copy(end.begin(), end.end(), code.end() - static_cast<std::ptrdiff_t>(end.size()));
    return ends_with_call(code);
}

TEST_CASE("Every form of a call is recognized, and similar instructions are not") {
    CHECK(is_call({0xe8, 1, 2, 3, 4}));
    CHECK(is_call({0xff, 0xd0}));                       // call rax
    CHECK(is_call({0x41, 0xff, 0xd4}));                 // call r12
    CHECK(is_call({0xff, 0x10}));                       // call [rax]
    CHECK(is_call({0xff, 0x50, 0x18}));                 // call [rax+24]
    CHECK(is_call({0xff, 0x90, 0x88, 1, 0, 0}));        // call [rax+392]
    CHECK(is_call({0xff, 0x15, 1, 2, 3, 4}));           // call [rip+...]
    CHECK(is_call({0xff, 0x14, 0xc8}));                 // call [rax+rcx*8]
    CHECK(is_call({0xff, 0x54, 0x24, 8}));              // call [rsp+8]
    CHECK(is_call({0xff, 0x94, 0x24, 0x88, 1, 0, 0}));  // call [rsp+392]
    CHECK_FALSE(is_call({}));
    CHECK_FALSE(is_call({0xe9, 1, 2, 3, 4}));  // jmp
    CHECK_FALSE(is_call({0xff, 0xe0}));        // jmp rax
    CHECK_FALSE(is_call({0xff, 0xd0, 0x90}));  // one byte too early
    CHECK_FALSE(is_call({0xe8, 1, 2, 3}));
    CHECK_FALSE(is_call({0xff, 0x50}));  // its displacement is missing
}

std::vector<std::string> g_found;

[[gnu::noinline]] void innermost_of_test() {
    g_found = callers_above(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)),
                            MemoryMap::of_this_process());
}

/// Calls through a pointer and has work left afterwards, so that no call becomes a jump.
[[gnu::noinline]] int outer_of_test(const std::function<void()>& next) {
    next();
    return static_cast<int>(g_found.size());
}

std::size_t first_with(const std::vector<std::string>& callers, const std::string& name) {
    const auto found = std::find_if(callers.begin(), callers.end(), [&name](const std::string& caller) {
        return caller.find(name) != std::string::npos;
    });
    return static_cast<std::size_t>(found - callers.begin());
}

TEST_CASE("Callers are found from the inside out, with names from the file") {
    REQUIRE(outer_of_test(innermost_of_test) > 2);
    CHECK(g_found.size() <= kMostCallers);
    std::vector<std::string> named = g_found;
    name_callers(named);
    CAPTURE(g_found, named);
    const std::size_t outer = first_with(named, "outer_of_test");
    const std::size_t main = first_with(named, "main (");
    CHECK(outer < main);
    CHECK((main < named.size() || g_found.size() == kMostCallers));
}

TEST_CASE("Without a stack or a mapping there are no callers") {
    const MemoryMap map = MemoryMap::of_this_process();
    CHECK(callers_above(0, map).empty());
    CHECK(callers_above(8, map).empty());
    CHECK(callers_above(reinterpret_cast<std::uintptr_t>(&map), MemoryMap()).empty());
}

TEST_CASE("A place is a file and an offset") {
    const MemoryMap map = MemoryMap::of_this_process();
    const auto address = reinterpret_cast<std::uintptr_t>(&dlsym);
    const Mapping* const file = map.find(address);
    REQUIRE(file != nullptr);
    CHECK(file->is_code);
    Dl_info info{};
    REQUIRE(dladdr(reinterpret_cast<const void*>(address), &info) != 0);
    CHECK(file->place_of(address, false).rfind("libc.so.6+0x", 0) == 0);
    CHECK(file->place_of(address, true).find("/libc.so.6+0x") != std::string::npos);
    CHECK(map.find(1) == nullptr);
}

TEST_CASE("A caller without a name keeps its place, and our own library is left out") {
    std::vector<std::string> callers = {"/nowhere/libgone.so+0x10", "/opt/libaoti_dbg.so+0x20", "/x/y", "",
                                        "/etc/passwd+0x1"};
    name_callers(callers);
    CHECK(callers == std::vector<std::string>{"libgone.so+0x10", "/x/y", "", "passwd+0x1"});
}

}  // namespace
}  // namespace aoti_dbg::thread_stack_test
