// Writes the index line of each saved tensor, and the last line with the totals.

#include <utility>

#include "serializer/tensor_index_jsonl.hpp"
#include "shim/save/tensor_saver.hpp"

namespace aoti_dbg {

/// Returns false on failure. The file is then removed again, because the index must list every file.
bool TensorSaver::append_to_index(SavingJob& job, const SavedFile* known, bool has_file, Hand& hand) {
    const std::string path = job.path();
    IndexedTensor line;
    line.path = path;
    line.side = job.side;
    line.run = job.run;
    line.call = job.call;
    line.model = job.model;
    line.sequence = job.sequence;
    if (job.side == EventSide::before || job.side == EventSide::after) line.kernel = job.kernel;
    line.label = job.label;
    line.position = job.position;
    line.dtype = job.dtype;
    line.sizes = job.sizes;
    line.strides = job.strides;
    line.storage_offset = job.storage_offset;
    line.storage_bytes = job.whole_storage_bytes;
    line.saved_storage_bytes = job.storage_bytes;
    line.bits = job.bits;
    line.device = job.device;
    line.bytes = known != nullptr ? static_cast<std::uint64_t>(known->size) : job.at;
    if (job.facts.hash) {
        line.has_hash = true;
        line.hash_high = job.facts.hash->high;
        line.hash_low = job.facts.hash->low;
    }
    if (known != nullptr) (has_file ? line.linked_to : line.same_as) = known->path;
    line.whole_name = job.whole_name;
    if (job.facts.statistics) line.statistics = &*job.facts.statistics;
    hand.line.clear();
    append_index_file(line, hand.line);
    Failed failed;
    {
        const std::lock_guard lock(index_mutex_);
        failed = index_.append(hand.line);
    }
    if (!failed) {
        job.index_bytes = hand.line.size();
        return true;
    }
    if (has_file)
        (void)folder_.calls().unlink_at(hand.folder.number(), file_name_of(job.stem, job.number).c_str(), 0);
    fail(failed, job);
    return false;
}

void TensorSaver::end(std::string_view how) {
    std::string reason;
    std::uint64_t bytes = 0;
    std::set<std::string> folders;
    {
        const std::lock_guard lock(mutex_);
        reason = why_stopped_;
        bytes = budget_.bytes();
        folders.swap(vain_folders_);
    }
    const NamedCount counts[] = {
        {"files", counts_.files_on_disk()},
        {"linked", counts_.linked_on_disk()},
        {"bytes", bytes},
        {"linked_bytes", counts_.linked_bytes_on_disk()},
        {"written_files", counts_.files.load()},
        {"written_bytes", counts_.bytes.load()},
    };
    const auto named = [](const auto& names, const auto& numbers) {
        std::vector<NamedCount> all;
        for (std::size_t i = 0; i < names.size(); ++i) {
            if (const std::uint64_t number = numbers[i].load(); number != 0)
                all.push_back({names[i], number});
        }
        return all;
    };
    const std::vector<NamedCount> removed = named(kWhyEvictedKeys, counts_.removed);
    std::vector<NamedCount> left_out = named(kLeftOutWords, counts_.left_out);
    std::erase_if(left_out, [](const NamedCount& count) {
        return count.name == kLeftOutWords[static_cast<std::size_t>(LeftOut::run_went)];
    });
    std::string line;
    const bool is_cut_short = how == "complete" && is_stopped();
    append_index_end({is_cut_short ? "stopped" : how, reason, counts, removed, left_out}, line);
    {
        const std::lock_guard lock(index_mutex_);
        (void)index_.append(line);
    }
    remove_folders(folders);
    folder_.tidy();
}

}  // namespace aoti_dbg
