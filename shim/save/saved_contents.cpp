#include "shim/save/saved_contents.hpp"

#include <utility>

namespace aoti_dbg {

const SavedFile* SavedContents::find(const ContentKey& key) {
    const auto found = known_.find(key);
    if (found == known_.end()) return nullptr;
    found->second.asked_for = true;
    return &found->second.file;
}

void SavedContents::put(const ContentKey& key, SavedFile file) {
    const auto found = known_.find(key);
    if (found != known_.end()) {
        found->second.file = std::move(file);
        return;
    }
    make_room();
    known_.emplace(key, SavedContent{std::move(file), false});
    order_.push_back(key);
}

/// Gives requested contents a second chance. Weights are saved first and recur in every run.
void SavedContents::make_room() {
    while (!order_.empty() && (known_.size() >= most_ || order_.size() >= 2 * most_)) {
        const ContentKey oldest = order_.front();
        order_.pop_front();
        const auto found = known_.find(oldest);
        if (found == known_.end()) continue;
        if (found->second.asked_for) {
            found->second.asked_for = false;
            order_.push_back(oldest);
        } else {
            known_.erase(found);
        }
    }
}

}  // namespace aoti_dbg
