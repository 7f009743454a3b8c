#include "shim/save/saved_side.hpp"

#include <algorithm>
#include <cstring>

#include "stats_kernels/bytes_hash.hpp"

namespace aoti_dbg {
namespace {

/// Works block by block, so that the second pass over a block hits the cache.
BytesHash copy_and_hash(std::span<std::byte> to, std::span<const std::byte> from) {
    constexpr std::size_t kBlock = std::size_t{64} << 10U;
    BytesHash hash;
    for (std::size_t at = 0; at < from.size(); at += kBlock) {
        const std::span<const std::byte> block = from.subspan(at, std::min(kBlock, from.size() - at));
        add_bytes(hash, block, at / kHashGroupBytes);
        std::memcpy(&to[at], block.data(), block.size());
    }
    return hash;
}

}  // namespace

void SavedSide::add(const PlannedArgument& argument, const SeenTensor& tensor) {
    TensorWriters& writers = saving_.writers();
    const SeenFacts& facts = *tensor.facts;
    if (!saving_.requested().match(argument.label, argument.original_fqn)) return;
    if (writers.is_stopped()) return writers.leave_out_when_stopped();
    const bool is_known = facts.has_known_bytes && (facts.count == 0 || tensor.address != 0);
    const bool is_here = facts.place == Place::cpu || facts.count == 0;
    if (!is_known) return writers.leave_out(LeftOut::unknown);
    if (!is_here && !can_bring(facts)) return writers.leave_out(LeftOut::no_device);
    if (facts.covered_bytes > saving_.largest()) return writers.leave_out(LeftOut::too_large);

    // The file of an empty tensor contains no storage, whatever its offset.
    const std::uint64_t offset = facts.count == 0 ? 0 : static_cast<std::uint64_t>(facts.storage_offset);
    const std::uint64_t before = offset * element_size(facts.measured_dtype);
    TensorToSave what;
    what.place = {of_.side, of_.run, of_.call, of_.sequence, of_.kernel, argument.label, facts.device};
    what.model = of_.model;
    what.position = argument.position;
    what.tensor = {facts.measured_dtype,         facts.sizes,  facts.strides, facts.storage_offset,
                   before + facts.covered_bytes, facts.device, facts.bits};
    what.storage_bytes = facts.storage_bytes;
    SavingJob* job = writers.open(what, saving_.patience_ms());
    if (job == nullptr) return;
    if (is_here) {
        save_host(job, {reinterpret_cast<const std::byte*>(tensor.address), facts.covered_bytes}, before);
    } else {
        bring(job, tensor.address, facts.covered_bytes, before);
    }
}

bool SavedSide::can_bring(const SeenFacts& facts) {
    if (facts.place != Place::cuda) return false;
    if (!asked_for_device_) {
        asked_for_device_ = true;
        gpu_ = saving_.gpu_of(of_.context);
        if (gpu_ != nullptr && is_capturing(*gpu_, of_.stream)) {
            say_that_it_captures();
            gpu_ = nullptr;
        }
        lacks_device_ = gpu_ == nullptr;
    }
    return gpu_ != nullptr && (facts.device_index < 0 || facts.device_index == gpu_->device());
}

void SavedSide::save_host(SavingJob* job, std::span<const std::byte> bytes, std::uint64_t before) {
    Staging& staging = saving_.staging();
    // Copies and hashes in one pass if the tensor fits. Otherwise the hash goes first, so that a content that
    // is already saved is not written again.
    BytesHash hash;
    Staging::Piece whole;
    if (bytes.size() > staging.most()) {
        add_bytes(hash, bytes, 0);
    } else if (!bytes.empty()) {
        whole = staging.take(bytes.size(), saving_.patience_ms());
        if (whole.bytes.empty()) return saving_.writers().give_up(job);
        hash = copy_and_hash(whole.bytes, bytes);
    }
    const SavedFacts facts{finished(hash, bytes.size()), std::nullopt};
    if (bytes.empty()) return saving_.writers().hand_over(job, facts, 0, {});
    if (!whole.bytes.empty()) {
        const TensorChunk chunk{whole.bytes, Staging::give_back, whole.slot};
        return saving_.writers().hand_over(job, facts, before, chunk);
    }
    saving_.writers().expect(job, facts);
    if (before != 0) saving_.writers().append(job, hole(before));
    if (copy(job, bytes)) return saving_.writers().close(job, facts);
    saving_.writers().give_up(job);
}

/// Returns false if the staging buffer has no room for all bytes.
bool SavedSide::copy(SavingJob* job, std::span<const std::byte> bytes) {
    Staging& staging = saving_.staging();
    while (!bytes.empty()) {
        const std::size_t length = std::min<std::uint64_t>(bytes.size(), staging.most());
        const Staging::Piece piece = staging.take(length, saving_.patience_ms());
        if (piece.bytes.empty()) return false;
        std::memcpy(piece.bytes.data(), bytes.data(), length);
        saving_.writers().append(job, {piece.bytes, Staging::give_back, piece.slot});
        bytes = bytes.subspan(length);
    }
    return true;
}

void SavedSide::bring(SavingJob* job, std::uint64_t address, std::uint64_t bytes, std::uint64_t before) {
    const auto tensor = std::make_shared<ArrivingTensor>(ArrivingTensor{job, bytes, before, {}, false});
    const std::uint64_t most = gpu_->most_bytes();
    // The hash precedes the first piece, so that a content that is already saved is not written again.
    bool fits = bytes <= most || bring_part(tensor, address, {0, bytes, false, false});
    for (std::uint64_t at = 0; fits && at < bytes; at += most)
        fits = bring_part(tensor, address, {at, std::min(most, bytes - at), true, bytes - at <= most});
    if (fits) return;
    ArrivingPiece& rest = pieces_.emplace_back();
    rest.tensor = tensor;
    rest.gpu = gpu_;
    rest.is_last = rest.is_refused = true;
}

/// Returns false if the staging buffer has no room.
bool SavedSide::bring_part(const std::shared_ptr<ArrivingTensor>& tensor, std::uint64_t address,
                           const Part& part) {
    const std::uint32_t blocks = blocks_to_save(part.bytes, part.is_copied, gpu_->limits());
    const std::uint64_t line_bytes = blocks * sizeof(ResultLine);
    const Staging::Piece staged = take(line_bytes + (part.is_copied ? part.bytes : 0));
    if (staged.bytes.empty()) return false;
    auto* const lines = reinterpret_cast<ResultLine*>(staged.bytes.data());
    for (std::uint32_t i = 0; i < blocks; ++i)
        lines[i].sequence = 0;
    const std::span<std::byte> to = staged.bytes.subspan(line_bytes);

    SaveJob job;
    job.data = address + part.begin;
    job.bytes = part.bytes;
    job.first_group = part.begin / kHashGroupBytes;
    job.to = part.is_copied ? gpu_->address_of(to.data()) : 0;
    job.lines = gpu_->address_of(staged.bytes.data());
    job.blocks = blocks;
    if (!add_save_job(launch_, job)) {
        send();
        add_save_job(launch_, job);
    }
    ArrivingPiece& piece = pieces_.emplace_back();
    piece.tensor = tensor;
    piece.gpu = gpu_;
    piece.slot = staged.slot;
    piece.lines = lines;
    piece.blocks = blocks;
    piece.bytes = to;
    piece.has_hash = !part.is_copied || part.bytes == tensor->bytes;
    piece.is_last = part.is_last;
    return true;
}

Staging::Piece SavedSide::take(std::uint64_t bytes) {
    const Staging::Piece piece = gpu_->staging().take(bytes, 0);
    if (!piece.bytes.empty()) return piece;
    // Launch first: the pieces that fill the buffer must not wait for this thread.
    send();
    return gpu_->staging().take(bytes, saving_.patience_ms());
}

void SavedSide::send() {
    if (pieces_.empty()) return;
    CUresult result = CUDA_SUCCESS;
    if (launch_.jobs != 0) {
        launch_.sequence = next_launch_sequence();
        result = gpu_->launch(of_.stream, launch_.blocks, &launch_);
        if (result != CUDA_SUCCESS) gpu_->note_failure(result);
    }
    const StreamKey stream = StreamKey::of(gpu_->context(), of_.stream);
    for (ArrivingPiece& piece : pieces_) {
        piece.stream = stream;
        piece.sequence = launch_.sequence;
        piece.is_refused = piece.is_refused || result != CUDA_SUCCESS;
    }
    saving_.arrivals().put(pieces_);
    pieces_.clear();
    launch_.jobs = launch_.blocks = 0;
}

}  // namespace aoti_dbg
