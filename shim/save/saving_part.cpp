#include "shim/save/saving_part.hpp"

#include <limits.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "config/selection.hpp"
#include "shim/calls/coverage_line.hpp"
#include "shim/calls/session.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {
namespace {

/// Appends a text like "138 tensors saved (110 linked); 2162 removed with older runs; 17 not saved (12 no
/// room, 5 too large)".
void append_saved(CoverageLine& line, const SavedCounts& counts) {
    const std::uint64_t files = counts.files_on_disk();
    const std::uint64_t linked = counts.linked_on_disk();
    line.count("; ", files, "tensor saved", "tensors saved");
    if (linked != 0) line.count(" (", linked, "linked)", "linked)");
    static constexpr std::array<const char*, kWhyEvictedKeys.size()> kRemoved = {
        "removed with older runs", "removed with runs without a finding", "removed to make room",
        "removed because nothing faulted"};
    for (std::size_t i = 0; i < kRemoved.size(); ++i)
        line.rest(counts.removed[i].load(std::memory_order_relaxed), kRemoved[i]);
    const std::uint64_t left_out = counts.all_left_out();
    if (left_out == 0) return;
    line.rest(left_out, "not saved");
    const char* before = " (";
    for (std::size_t i = 0; i < kLeftOutTexts.size(); ++i) {
        const std::uint64_t number = counts.left_out[i].load(std::memory_order_relaxed);
        if (number == 0 || static_cast<LeftOut>(i) == LeftOut::run_went) continue;
        line.count(before, number, kLeftOutTexts[i], kLeftOutTexts[i]);
        before = ", ";
    }
    line.text(")");
}

}  // namespace

Saving* SavingPart::start() const {
    char here[PATH_MAX];
    return Saving::start(options(), session_.folder(), getcwd(here, sizeof here) == nullptr ? "/" : here,
                         run_files_);
}

bool SavingPart::begin_run_file(std::uint32_t run) {
    Saving* const its = saving();
    return its != nullptr && its->writers().begin_run_file(run);
}

void SavingPart::end_run_file(std::uint32_t run) {
    if (Saving* const its = present(); its != nullptr) its->writers().end_run_file(run);
}

void SavingPart::flush() const {
    if (Saving* const its = present(); its != nullptr) its->flush();
}

void SavingPart::remove_all_at_end() {
    if (Saving* const its = present(); its != nullptr) its->writers().remove_all_at_end();
}

void SavingPart::context_ends(CUctx_st* context) {
    if (Saving* const saving = present(); saving != nullptr) saving->end_context(context);
}

void SavingPart::device_ends(int device) {
    if (Saving* const saving = present(); saving != nullptr) saving->end_contexts_of(device);
}

void SavingPart::finish() {
    saving_.close();
    if (Saving* const saving = present(); saving != nullptr) saving->finish();
}

void SavingPart::append_coverage(CoverageLine& line) const {
    const Saving* const saving = present();
    if (saving == nullptr) return;
    line.count_last();
    append_saved(line, saving->counts());
    line.file("tensors", saving->folder().c_str());
}

void start_saving(Session& session) {
    if (may_save(options())) session.add(std::make_unique<SavingPart>(session));
}

}  // namespace aoti_dbg
