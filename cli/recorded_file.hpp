// Reads recorded files for the commands, and prints what is wrong with a file.
#pragma once

#include <cstddef>

#include "base/descriptor.hpp"
#include "serializer/event_reader.hpp"

namespace aoti_dbg::cli {

/// Reads a file from its start to its end.
class RecordedFile {
  public:
    explicit RecordedFile(const char* path);
    /// Returns the number of bytes read, 0 at the end and after an error.
    std::size_t read(char* to, std::size_t bytes);
    /// The errno value of the failure, or 0.
    [[nodiscard]] int error() const { return error_; }

  private:
    Descriptor file_;
    int error_ = 0;
};

/// Prints what of the file was left out.
void warn_of_gaps(const char* path, const ReadNotes& notes);

}  // namespace aoti_dbg::cli
