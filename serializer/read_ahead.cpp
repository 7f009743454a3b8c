#include "serializer/read_ahead.hpp"

#include <utility>

namespace aoti_dbg {

ReadAhead::ReadAhead(ByteSource source) : lines_(std::move(source)) {
    for (Batch& batch : batches_)
        batch.lines.resize(kMostLines);
    thread_ = std::thread([this] { run(); });
}

ReadAhead::~ReadAhead() {
    {
        const std::lock_guard lock(mutex_);
        is_stopped_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void ReadAhead::fill(Batch& batch) {
    batch.count = 0;
    std::size_t bytes = 0;
    std::string_view line;
    while (batch.count < kMostLines && bytes < kMostBytes) {
        if (!lines_.next(line)) {
            batch.is_last = true;
            return;
        }
        ParsedLine& parsed = batch.lines[batch.count++];
        // A long line must not keep its memory in each place that it once had.
        if (parsed.json.line().size() > kMostBytes) parsed = {};
        parsed.number = lines_.number();
        parsed.is_json = parsed.json.parse(lines_.is_too_long() ? std::string_view() : line);
        bytes += line.size();
    }
}

void ReadAhead::run() {
    for (std::size_t number = 0;; ++number) {
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return is_stopped_ || number - used_ < kBatches; });
            if (is_stopped_) return;
        }
        Batch& batch = batches_[number % kBatches];
        fill(batch);
        {
            const std::lock_guard lock(mutex_);
            filled_ = number + 1;
        }
        changed_.notify_all();
        if (batch.is_last) return;
    }
}

bool ReadAhead::take_batch() {
    std::unique_lock lock(mutex_);
    if (batch_ != nullptr) ++used_;
    changed_.notify_all();
    if (batch_ != nullptr && batch_->is_last) {
        is_over_ = true;
        return false;
    }
    changed_.wait(lock, [&] { return filled_ > used_; });
    batch_ = &batches_[used_ % kBatches];
    at_ = 0;
    return true;
}

const ParsedLine* ReadAhead::next() {
    while (batch_ == nullptr || at_ == batch_->count)
        if (is_over_ || !take_batch()) return nullptr;
    return &batch_->lines[at_++];
}

}  // namespace aoti_dbg
