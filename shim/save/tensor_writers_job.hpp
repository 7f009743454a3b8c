// The contents of the writers' queue. Only the files of TensorWriters may include this.
#pragma once

#include <deque>

#include "shim/save/tensor_writers.hpp"

namespace aoti_dbg {

struct TensorWriters::Job : SavingJob {
    std::vector<TensorChunk> chunks;  // not processed yet
    std::vector<TensorChunk> taken_chunks;
    SavedFacts closed_facts;  // from close()
    bool is_open = false;     // in use by a producer or the queue
    bool is_closed = false;
    bool is_expected = false;  // facts came before the first chunk
    bool is_given_up = false;
    bool is_lost = false;   // given up, as seen by its thread
    bool is_ready = false;  // in the queue
    bool is_busy = false;   // a thread works on it
    bool is_due = false;    // something arrived while a thread worked on it
    bool waits = false;     // for a job with the same content

    // For a large job.
    struct Checked {
        std::uint32_t crc = 0;
        std::uint64_t bytes = 0;
    };
    std::deque<Checked> parts;    // in order of the storage
    std::uint32_t parts_out = 0;  // in the queue or with a thread
    Failed part_failed;           // the first failure
};

/// A chunk of a large job. The job owns the result once the part is done.
struct TensorWriters::Part {
    Job* job = nullptr;
    TensorChunk chunk;
    std::uint64_t from = 0;  // in the storage
    Job::Checked* checked = nullptr;
};

}  // namespace aoti_dbg
