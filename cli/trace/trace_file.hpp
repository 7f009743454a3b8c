// A trace while it is written. It has a temporary name until it is complete, and replaces no file.
#pragma once

#include <string>

#include "base/status.hpp"

namespace aoti_dbg::cli {

class TraceFile {
  public:
    /// `path` is the final path. With `may_number`, a path that is taken gets `.2`, `.3` and so on.
    TraceFile(std::string path, bool may_number) : path_(std::move(path)), may_number_(may_number) {}
    /// Removes an unfinished file.
    ~TraceFile();
    TraceFile(const TraceFile&) = delete;
    TraceFile& operator=(const TraceFile&) = delete;

    Status open();
    Status write(const std::string& bytes);
    /// Gives the file its name, and returns it.
    Result<std::string> finish();

  private:
    [[nodiscard]] std::string name_of(int number) const;

    std::string path_;
    bool may_number_;
    std::string unfinished_;
    int descriptor_ = -1;
};

}  // namespace aoti_dbg::cli
