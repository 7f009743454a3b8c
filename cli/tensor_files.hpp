// The `.pt` files of a recording (level 1).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cli/recording_files.hpp"
#include "compare/saved_tensors.hpp"
#include "serializer/json_line.hpp"

namespace aoti_dbg::cli {

/// The argument that a file has saved.
struct SavedPlace {
    EventSide side = EventSide::before;
    std::uint32_t run = ~0U;
    std::uint32_t call = kNoCallNumber;
    std::uint32_t position = 0;
    std::string label;
};

/// Returns nothing for a line of an index that is about no file.
std::optional<SavedPlace> saved_place(JsonLine::Value line);

class TensorFiles : public compare::SavedTensors {
  public:
    /// Those beside this events.jsonl. The index is read when it is first needed.
    explicit TensorFiles(std::string events,
                         std::shared_ptr<RecordingFiles> files = std::make_shared<FolderFiles>())
        : events_(std::move(events)), files_(std::move(files)) {}

    struct Saved {
        std::string_view line;  // of the index; lives as long as this object
        std::string file;       // in the recording
    };
    /// Returns the file of one argument, or nothing if it was not saved.
    std::optional<Saved> saved_at(const SavedPlace& place);
    /// Reads the index, unless it has been read. Fails if there is none.
    Status read_index();

    bool has(const compare::RecordedTensor& tensor) override;
    /// Returns an empty path if there is no file.
    [[nodiscard]] std::string path_of(const compare::RecordedTensor& tensor);
    std::optional<compare::SavedElements> elements_of(const compare::RecordedTensor& tensor) override;

  private:
    struct File {
        std::size_t folder = 0;
        std::string path;
        std::string_view line;
    };
    const File* file_of(const compare::RecordedTensor& tensor);

    std::string events_;
    std::shared_ptr<RecordingFiles> files_;
    FileContents index_;
    bool is_read_ = false;
    std::vector<std::string> folders_;
    std::unordered_map<std::uint64_t, File> by_place_;  // by hash of run, call, side, label and position
};

}  // namespace aoti_dbg::cli
