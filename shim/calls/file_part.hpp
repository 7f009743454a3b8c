// A file next to the ring that a feature creates when it first has something to record.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/file_failure.hpp"
#include "base/message.hpp"
#include "shim/calls/session_part.hpp"
#include "shim/runtime/created_once.hpp"

namespace aoti_dbg {

/// `File::create(path)` returns Result<std::unique_ptr<File>>.
template <typename File>
class FilePart final : public SessionPart {
  public:
    /// `contents` names what reports lack without the file.
    FilePart(std::string path, const char* contents) : path_(std::move(path)), contents_(contents) {}

    /// Creates the file at the first call. Returns null if that fails.
    [[nodiscard]] File* file() {
        return file_.get([this] { return create(); });
    }
    /// Returns null if the file was not created yet.
    [[nodiscard]] File* present() const { return file_.present(); }

  private:
    File* create() const {
        Result<std::unique_ptr<File>> made = File::create(path_);
        if (made.ok()) return made.value().release();
        message(Severity::warn, "%s. Reports do not show %s. %s", made.status().message().c_str(), contents_,
                remedy_for(made.status(), "AOTI_DBG_OUT", PlaceKind::directory).c_str());
        return nullptr;
    }

    std::string path_;
    const char* contents_;
    CreatedOnce<File> file_;
};

}  // namespace aoti_dbg
