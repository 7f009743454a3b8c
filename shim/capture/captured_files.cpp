#include "shim/capture/captured_files.hpp"

namespace aoti_dbg {

std::vector<std::uint64_t> CapturedFiles::add(std::uint32_t run, std::uint32_t call, std::uint64_t image) {
    std::vector<std::uint64_t> unneeded;
    if (image != 0) ++images_[image];
    const auto [launch, is_new] = runs_[run].try_emplace(call, image);
    if (is_new) {
        ++launches_;
    } else {
        release(launch->second, unneeded);
        launch->second = image;
    }
    return unneeded;
}

CapturedFiles::Removed CapturedFiles::remove_run(std::uint32_t run) {
    Removed removed;
    const auto found = runs_.find(run);
    if (found == runs_.end()) return removed;
    for (const auto& [call, image] : found->second) {
        removed.calls.push_back(call);
        release(image, removed.images);
    }
    launches_ -= found->second.size();
    runs_.erase(found);
    return removed;
}

bool CapturedFiles::has_launch(std::uint32_t run, std::uint32_t call) const {
    const auto found = runs_.find(run);
    return found != runs_.end() && found->second.count(call) != 0;
}

std::size_t CapturedFiles::launches_of(std::uint32_t run) const {
    const auto found = runs_.find(run);
    return found == runs_.end() ? 0 : found->second.size();
}

void CapturedFiles::release(std::uint64_t image, std::vector<std::uint64_t>& unneeded) {
    const auto found = images_.find(image);
    if (found == images_.end() || --found->second != 0) return;
    images_.erase(found);
    unneeded.push_back(image);
}

}  // namespace aoti_dbg
