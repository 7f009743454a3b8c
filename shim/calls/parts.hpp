// What features keep for one thread, session or model. Each part is found by its type, so this folder does
// not need to know the features.
#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>
#include <memory>

namespace aoti_dbg {

class Parts {
  public:
    Parts() = default;
    ~Parts() {
        while (count_ != 0) {
            const Entry& last = entries_[--count_];
            last.destroy(last.part);
        }
    }
    Parts(const Parts&) = delete;
    Parts& operator=(const Parts&) = delete;

    /// Returns null if there is no such part.
    template <typename Part>
    [[nodiscard]] Part* find() const {
        for (std::size_t i = 0; i < count_; ++i)
            if (entries_[i].key == &kKey<Part>) return static_cast<Part*>(entries_[i].part);
        return nullptr;
    }

    /// Must not be called while another thread uses the parts.
    template <typename Part>
    Part& add(std::unique_ptr<Part> part) {
        if (count_ == entries_.size()) abort();  // the list of features is fixed, so a test would find this
        entries_[count_++] = {&kKey<Part>, part.get(), [](void* old) { delete static_cast<Part*>(old); }};
        return *part.release();
    }

    /// Creates the part if there is none.
    template <typename Part>
    Part& get() {
        Part* const known = find<Part>();
        return known != nullptr ? *known : add(std::make_unique<Part>());
    }

  private:
    template <typename Part>
    static constexpr char kKey = 0;  // its address identifies the type

    struct Entry {
        const char* key;
        void* part;
        void (*destroy)(void*);
    };
    std::size_t count_ = 0;
    std::array<Entry, 13> entries_{};
};

}  // namespace aoti_dbg
