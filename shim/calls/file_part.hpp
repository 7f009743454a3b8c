// A file next to the ring that a feature creates when it first has something to record.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/file_failure.hpp"
#include "base/message.hpp"
#include "shim/calls/session_part.hpp"

namespace aoti_dbg {

/// `File::create(path)` returns Result<std::unique_ptr<File>>.
template <typename File>
class FilePart final : public SessionPart {
  public:
    /// `contents` names what reports lack without the file.
    FilePart(std::string path, const char* contents) : path_(std::move(path)), contents_(contents) {}

    /// Creates the file at the first call. Returns null if that fails.
    [[nodiscard]] File* file() {
        File* const known = present();
        return known != nullptr || has_failed_.load(std::memory_order_relaxed) ? known : create();
    }
    /// Returns null if the file was not created yet.
    [[nodiscard]] File* present() const { return file_.load(std::memory_order_acquire); }

  private:
    File* create() {
        const std::lock_guard lock(mutex_);
        File* known = present();
        if (known != nullptr || has_failed_.load(std::memory_order_relaxed)) return known;
        Result<std::unique_ptr<File>> made = File::create(path_);
        if (made.ok()) {
            known = made.value().release();
            file_.store(known, std::memory_order_release);
            return known;
        }
        has_failed_.store(true, std::memory_order_relaxed);
        message(Severity::warn, "%s. Reports do not show %s. %s", made.status().message().c_str(), contents_,
                remedy_for(made.status(), "AOTI_DBG_OUT", PlaceKind::directory).c_str());
        return nullptr;
    }

    std::string path_;
    const char* contents_;
    std::mutex mutex_;  // for the creation
    std::atomic<bool> has_failed_{false};
    std::atomic<File*> file_{nullptr};  // never freed: threads may be using it
};

}  // namespace aoti_dbg
