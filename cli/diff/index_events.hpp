// The calls of a recording that saved tensors and measured none (level 1), from the index of its files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/tensor_files.hpp"
#include "serializer/event_jsonl.hpp"

namespace aoti_dbg::cli {

class IndexEvents {
  public:
    /// Reads the index, an index.jsonl. Call it once.
    void read_index(const char* path);

    /// Yields the lines of an events.jsonl, as a file does.
    std::size_t read(char* to, std::size_t bytes);

  private:
    struct Entry : SavedPlace {
        std::uint32_t model = ~0U;
        std::uint64_t sequence = 0;
        std::string kernel;
        std::string hash;
        TensorFacts facts;
    };
    void render_next();
    [[nodiscard]] Role role_of(const Entry& entry);
    const ArgumentFacts& facts_of(const Entry& entry, Role role);
    std::uint64_t address_of(const Entry& entry);

    std::vector<Entry> entries_;  // in the order of the calls
    std::size_t next_ = 0;
    std::string text_;
    std::size_t at_ = 0;
    JsonlRenderer renderer_;
    std::map<std::string, SiteFacts> sites_;
    std::map<std::string, ArgumentFacts> arguments_;
    // Of the current run. The index has no addresses, so each label gets one, or that of a tensor with the
    // same contents.
    std::map<std::string, std::uint64_t> by_label_;
    std::map<std::string, std::uint64_t> by_hash_;
    std::uint64_t labels_ = 0;
    std::set<std::string> weights_;  // labels that a call reads, and nothing wrote
    std::set<std::string> unread_;   // labels of memory that the current call only writes
};

}  // namespace aoti_dbg::cli
