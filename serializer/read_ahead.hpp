// Splits a stream into lines and parses them as JSON in a thread of its own, while the reader uses earlier
// lines. It hands lines over in batches. Its memory does not grow with the stream.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "serializer/json_line.hpp"
#include "serializer/line_source.hpp"

namespace aoti_dbg {

/// A line of a stream, and what it says.
struct ParsedLine {
    JsonLine json;  // of an empty line if the line is too long
    bool is_json = false;
    std::uint64_t number = 0;  // of the line, from 1, counting blank ones
};

class ReadAhead {
  public:
    /// `source` is called in the other thread until next() has returned null or this is destroyed.
    explicit ReadAhead(ByteSource source);
    ~ReadAhead();
    ReadAhead(const ReadAhead&) = delete;
    ReadAhead& operator=(const ReadAhead&) = delete;

    /// Returns the next non-blank line, valid until the next call, or null at the end.
    const ParsedLine* next();

  private:
    static constexpr std::size_t kBatches = 3;
    static constexpr std::size_t kMostLines = 128;  // of a batch
    static constexpr std::size_t kMostBytes = std::size_t{128} * 1024;

    struct Batch {
        std::vector<ParsedLine> lines;  // the first `count` of them are in use
        std::size_t count = 0;
        bool is_last = false;
    };

    void run();
    void fill(Batch& batch);
    bool take_batch();

    LineSource lines_;
    std::array<Batch, kBatches> batches_;
    const Batch* batch_ = nullptr;  // that the reader uses
    std::size_t at_ = 0;            // the next line of it
    bool is_over_ = false;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t filled_ = 0;  // batches, ever
    std::size_t used_ = 0;    // batches that the reader has finished, ever
    bool is_stopped_ = false;
    std::thread thread_;
};

}  // namespace aoti_dbg
