// The list of plain structs: growth, its own elements, and both ends.
#include "base/plain_list.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"

namespace aoti_dbg::plain_list_test {
namespace {

using List = PlainList<std::uint32_t>;

List list_of(std::uint32_t count) {
    List list;
    for (std::uint32_t i = 0; i < count; ++i)
        list.push_back(i);
    return list;
}

std::vector<std::uint32_t> contents(const List& list) {
    return {list.begin(), list.end()};
}

using Numbers = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("A list grows, and keeps what it has") {
    const List list = list_of(1000);
    REQUIRE(list.size() == 1000);
    for (std::uint32_t i = 0; i < 1000; ++i)
        if (list[i] != i) FAIL("element " << i << " is " << list[i]);
    CHECK(reinterpret_cast<std::uintptr_t>(list.data()) % kCacheLine == 0);
}

TEST_CASE("A full list can take one of its own elements") {
    List list = list_of(1);
    while (list.size() < list.capacity())
        list.push_back(7);
    list.push_back(list[0]);
    CHECK(list.back() == 0);
    CHECK(list.emplace_back() == 0);
}

TEST_CASE("Appending to an empty list, and appending nothing") {
    List list;
    list.append(contents(list));
    CHECK(list.empty());
    list.append(contents(list_of(3)));
    list.append(Numbers());
    CHECK(contents(list) == Numbers{0, 1, 2});
}

TEST_CASE("Elements leave at both ends") {
    List list = list_of(5);
    list.drop_front(0);
    CHECK(contents(list) == Numbers{0, 1, 2, 3, 4});
    list.drop_front(2);
    CHECK(contents(list) == Numbers{2, 3, 4});
    list.pop_back();
    CHECK(contents(list) == Numbers{2, 3});
    list.drop_front(2);
    CHECK(list.empty());
}

TEST_CASE("A moved list takes its elements along, and a cleared one keeps its memory") {
    List list = list_of(3);
    List other = std::move(list);
    CHECK(contents(other) == Numbers{0, 1, 2});
    const std::size_t capacity = other.capacity();
    other.clear();
    CHECK(other.empty());
    CHECK(other.capacity() == capacity);
    other.reserve(capacity + 1);
    CHECK(other.capacity() > capacity);
}

}  // namespace aoti_dbg::plain_list_test
