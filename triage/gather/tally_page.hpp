// The command's side of the tally (serializer/tally_format.hpp). It creates the page and reads what processes
// counted. It must leave no descriptor to the program, because processes find the page by its path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "serializer/tally_format.hpp"
#include "triage/judge/ended_run.hpp"

namespace aoti_dbg {

class TallyPage {
  public:
    /// May fail (old kernel, no /proc, a limit). Then there is no path and no counts.
    TallyPage();
    ~TallyPage();
    TallyPage(const TallyPage&) = delete;
    TallyPage& operator=(const TallyPage&) = delete;

    /// Returns the value for AOTI_DBG_TALLY; empty without a page.
    [[nodiscard]] const std::string& path() const { return path_; }
    /// Marks the calling process as the started program. Call it in the child of a fork, before exec.
    void mark_start() const;
    [[nodiscard]] std::optional<Seen> seen() const;
    /// Returns the version that the loaded library reported; empty if there is none.
    [[nodiscard]] std::string library_version() const;
    /// Returns when the page was created, which is the time that %t means.
    [[nodiscard]] std::int64_t start_unix_ns() const { return start_unix_ns_; }

  private:
    int descriptor_ = -1;
    tally::Page* page_ = nullptr;
    std::int64_t start_unix_ns_ = 0;
    std::string path_;
};

}  // namespace aoti_dbg
