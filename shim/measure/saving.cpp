#include "shim/measure/saving.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/errno_keeper.hpp"
#include "base/message.hpp"
#include "shim/report/measured_output.hpp"
#include "stats_kernels/bytes_hash.hpp"

namespace aoti_dbg {
namespace {

// Nobody waits longer for writers that make no progress: the disk hangs.
constexpr std::uint32_t kPatienceMs = 10'000;
}  // namespace

Saving::Saving(const Options& options, TensorWriters& writers, std::unique_ptr<Staging> staging)
    : writers_(writers),
      staging_(std::move(staging)),
      folder_(writers.saver().folder().path()),
      wanted_(options.tensors),
      largest_(options.max_tensor),
      patience_ms_(options.on_full == OnFull::drop ? 0 : kPatienceMs) {}

Saving* Saving::start(const Options& options, const std::string& out, const std::string& here) {
    const auto refuse = [](const std::string& why) -> Saving* {
        message(Severity::warn, "%s; no tensors are saved; set AOTI_DBG_OUT to a folder that can be written",
                why.c_str());
        return nullptr;
    };
    if (out.empty()) return refuse("there is no output folder");
    std::unique_ptr<Staging> staging = Staging::make(options.staging);
    if (staging == nullptr) return refuse("there is no memory for staging (AOTI_DBG_STAGING)");
    const Result<TensorWriters*> writers =
        TensorWriters::start(saving_settings(options, out, here, header_facts()), options.writers);
    if (!writers.ok()) return refuse(writers.status().message());
    return new (std::nothrow) Saving(options, *writers.value(), std::move(staging));
}

void Saving::save(const Side& side, const PlannedArgument& argument, const SeenTensor& tensor) {
    const SeenFacts& facts = *tensor.facts;
    if (writers_.is_stopped() || !wanted_.match(argument.label, argument.original_fqn)) return;
    const bool is_known = facts.is_measurable() && facts.place == Place::cpu;
    if (!is_known || (facts.count != 0 && tensor.address == 0)) return writers_.leave_out(LeftOut::unknown);
    const std::uint64_t before =
        static_cast<std::uint64_t>(facts.storage_offset) * element_size(facts.measured_dtype);
    if (facts.covered_bytes > largest_) return writers_.leave_out(LeftOut::too_large);

    TensorToSave what;
    what.place = {side.side, side.run, side.call, side.sequence, side.kernel, argument.label, facts.device};
    what.model = side.model;
    what.position = argument.position;
    what.tensor = {facts.measured_dtype,         facts.sizes, facts.strides, facts.storage_offset,
                   before + facts.covered_bytes, facts.device};
    SavingJob* job = writers_.open(what, patience_ms_);
    if (job == nullptr) return;
    const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(tensor.address),
                                           facts.covered_bytes);
    BytesHash hash;
    add_bytes(hash, bytes, 0);
    hash = finished(hash, bytes.size());
    const SavedFacts saved{hash, std::nullopt};
    writers_.expect(job, saved);
    // What comes before the tensor in its storage is not its own.
    if (before != 0 && !bytes.empty()) writers_.append(job, {{static_cast<std::byte*>(nullptr), before}});
    if (copy(job, bytes)) return writers_.close(job, saved);
    writers_.give_up(job);
}

/// False where there is no room for all of it.
bool Saving::copy(SavingJob* job, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const std::size_t length = std::min<std::uint64_t>(bytes.size(), staging_->most());
        const Staging::Piece piece = staging_->take(length, patience_ms_);
        if (piece.bytes.empty()) return false;
        std::memcpy(piece.bytes.data(), bytes.data(), length);
        writers_.append(job, {piece.bytes, Staging::give_back, piece.slot});
        bytes = bytes.subspan(length);
    }
    return true;
}

void Saving::finish() {
    const SavedCounts& counts = writers_.saver().counts();
    const auto done = [&counts] { return counts.files.load() + counts.bytes.load(); };
    // Everything is written, however long it takes, but nobody waits for a disk that hangs.
    for (std::uint64_t before = done(); !writers_.drain(kPatienceMs) && done() != before;)
        before = done();
    writers_.finish(0);
}

}  // namespace aoti_dbg
