// A file that the command writes. It has a temporary name until it is complete, and replaces no file.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/status.hpp"

namespace aoti_dbg::cli {

class NewFile {
  public:
    /// `path` is the final path. With `may_number`, a path that is taken gets `.2`, `.3` and so on.
    NewFile(std::string path, bool may_number, mode_t mode = 0600)
        : path_(std::move(path)), may_number_(may_number), mode_(mode) {}
    /// Removes an unfinished file.
    ~NewFile();
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;

    Status open();
    Status write(const std::string& bytes);
    /// Gives the file its name, and returns it.
    Result<std::string> finish();

  private:
    [[nodiscard]] std::string name_of(int number) const;

    std::string path_;
    bool may_number_;
    mode_t mode_;
    std::string unfinished_;
    int descriptor_ = -1;
};

}  // namespace aoti_dbg::cli
