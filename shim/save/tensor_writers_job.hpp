// What the queue before the writers holds. For the files of TensorWriters alone.
#pragma once

#include <deque>

#include "shim/save/tensor_writers.hpp"

namespace aoti_dbg {

struct TensorWriters::Job : SavingJob {
    std::vector<TensorChunk> chunks;  // not looked at yet
    std::vector<TensorChunk> taken_chunks;
    SavedFacts told;       // by close()
    bool is_open = false;  // somebody outside has it, or the queue
    bool is_closed = false;
    bool is_expected = false;  // what it is was told beforehand
    bool is_given_up = false;
    bool is_lost = false;   // given up, as the thread that has it knows
    bool is_ready = false;  // it is in the queue
    bool is_busy = false;   // a thread has it
    bool is_due = false;    // something came while a thread had it
    bool waits = false;     // for another one with the same content

    // Of a large one.
    struct Checked {
        std::uint32_t crc = 0;
        std::uint64_t bytes = 0;
    };
    std::deque<Checked> parts;    // in their order
    std::uint32_t parts_out = 0;  // with a thread, or in the queue
    Failed part_failed;           // the first of them
};

/// A chunk of a large job. What it comes to is the job's again when the part is done.
struct TensorWriters::Part {
    Job* job = nullptr;
    TensorChunk chunk;
    std::uint64_t from = 0;  // in the storage
    Job::Checked* checked = nullptr;
};

}  // namespace aoti_dbg
