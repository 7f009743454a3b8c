// The tensors of a captured call in a Python script. Each has a variable, a file and a place in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "cli/replay/launch_files.hpp"
#include "cli/tensor_files.hpp"

namespace aoti_dbg::cli {

/// Returns a text as Python writes it.
std::string python_string(std::string_view text);

class ScriptTensors {
  public:
    explicit ScriptTensors(const LaunchFile& file);

    /// Returns the variable of a tensor that the call gets, and takes its file into the script. Fails if its
    /// contents are not saved.
    Result<std::string> take(const std::string& label, std::uint32_t position);

    /// Returns the path, in the recording, of the contents after the call; empty if they are not saved.
    [[nodiscard]] std::string file_after(const std::string& label, std::uint32_t position);

    /// Returns the statements that load what was taken.
    [[nodiscard]] std::string loaded() const;
    /// True if they need the function restore(), because tensors share memory or files have other layouts.
    [[nodiscard]] bool needs_restore() const;
    /// Returns the recording's folder, or its bundle.
    [[nodiscard]] const std::string& recording() const { return recording_; }

  private:
    struct Piece {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
    };
    struct Taken {
        const LaunchTensor* tensor = nullptr;
        std::string variable;
        std::string file;
        std::string device;
        MathBits bits;
        bool is_as_saved = false;  // the file has the layout of the tensor
    };
    void find_pieces();
    [[nodiscard]] std::size_t piece_of(const LaunchTensor& tensor) const;
    [[nodiscard]] bool is_alone(const Taken& taken) const;
    [[nodiscard]] const LaunchTensor* find(const std::string& label, std::uint32_t position) const;
    /// Returns the path of a saved file, or an empty one.
    [[nodiscard]] std::string path_of(const std::string& label, std::uint32_t position,
                                      const TensorFacts* facts, EventSide side);
    [[nodiscard]] std::string in_recording(const std::string& path) const;
    [[nodiscard]] std::string line_of(const Taken& taken) const;
    [[nodiscard]] std::string new_name(const std::string& label) const;

    const LaunchRecord& launch_;
    std::shared_ptr<RecordingFiles> files_;
    std::string recording_;
    TensorFiles tensors_;
    std::vector<Piece> pieces_;  // tensors that overlap share one
    std::vector<Taken> taken_;
};

}  // namespace aoti_dbg::cli
