// A growing list for structs that can be copied as bytes, on paths that every launch takes. It is like
// std::vector, but adding an element is inline and constructs it in place. The first element starts a cache
// line.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "base/cache_line.hpp"

namespace aoti_dbg {

template <typename T>
class PlainList {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

  public:
    PlainList() = default;
    PlainList(PlainList&& other) noexcept { swap(other); }
    PlainList& operator=(PlainList&& other) noexcept {
        swap(other);
        return *this;
    }
    PlainList(const PlainList&) = delete;
    PlainList& operator=(const PlainList&) = delete;
    ~PlainList() { release(begin_); }

    [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(end_ - begin_); }
    [[nodiscard]] std::size_t capacity() const { return static_cast<std::size_t>(limit_ - begin_); }
    [[nodiscard]] bool empty() const { return end_ == begin_; }
    [[nodiscard]] T* data() { return begin_; }
    [[nodiscard]] const T* data() const { return begin_; }
    [[nodiscard]] T* begin() { return begin_; }
    [[nodiscard]] T* end() { return end_; }
    [[nodiscard]] const T* begin() const { return begin_; }
    [[nodiscard]] const T* end() const { return end_; }
    [[nodiscard]] T& operator[](std::size_t i) { return begin_[i]; }
    [[nodiscard]] const T& operator[](std::size_t i) const { return begin_[i]; }
    [[nodiscard]] T& back() { return end_[-1]; }

    /// Adds a default element.
    T& emplace_back() {
        if (end_ == limit_) [[unlikely]]
            grow(1);
        return *std::construct_at(end_++);
    }
    void push_back(const T& value) {
        if (end_ == limit_) [[unlikely]] {
            const T kept = value;  // it may be in this list
            grow(1);
            std::construct_at(end_++, kept);
            return;
        }
        std::construct_at(end_++, value);
    }
    /// `more` must not be part of this list.
    void append(std::span<const T> more) {
        if (static_cast<std::size_t>(limit_ - end_) < more.size()) [[unlikely]]
            grow(more.size());
        if (!more.empty()) memcpy(static_cast<void*>(end_), more.data(), more.size_bytes());
        end_ += more.size();
    }
    void pop_back() { --end_; }
    void drop_front(std::size_t count) {
        if (count == 0) return;
        if (count != size())
            memmove(static_cast<void*>(begin_), begin_ + count, (size() - count) * sizeof(T));
        end_ -= count;
    }
    void clear() { end_ = begin_; }
    /// Leaves pages untouched until elements fill them.
    void reserve(std::size_t capacity) {
        if (capacity > this->capacity()) move_to(capacity);
    }
    void swap(PlainList& other) noexcept {
        std::swap(begin_, other.begin_);
        std::swap(end_, other.end_);
        std::swap(limit_, other.limit_);
    }

  private:
    static constexpr std::align_val_t kAlignment{std::max(alignof(T), kCacheLine)};

    static void release(T* memory) {
        if (memory != nullptr) ::operator delete(static_cast<void*>(memory), kAlignment);
    }
    [[gnu::noinline, gnu::cold]] void grow(std::size_t more) {
        move_to(std::max(size() + more, capacity() * 2));
    }
    void move_to(std::size_t capacity) {
        auto* const memory = static_cast<T*>(::operator new(capacity * sizeof(T), kAlignment));
        const std::size_t count = size();
        if (count != 0) memcpy(static_cast<void*>(memory), begin_, count * sizeof(T));
        release(std::exchange(begin_, memory));
        end_ = begin_ + count;
        limit_ = begin_ + capacity;
    }

    T* begin_ = nullptr;
    T* end_ = nullptr;
    T* limit_ = nullptr;
};

}  // namespace aoti_dbg
