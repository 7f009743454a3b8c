// The command's end of the tally (serializer/tally_format.hpp): makes the page, reads what processes counted.
// Must leave the program no descriptor: processes find the page by its path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "serializer/tally_format.hpp"

namespace aoti_dbg {

/// What the run came to. `loaded` counts programs: one that becomes another by exec counts as two.
struct Seen {
    std::uint32_t loaded = 0;
    std::uint32_t partaking = 0;
    std::uint32_t models = 0;
    std::uint32_t recording = 0;
    std::uint32_t left_out = 0;
    std::uint32_t findings = 0;
    std::int32_t cuda_error = 0;  // that ended a context in a process without any other record
    std::uint32_t idle = 0;       // processes that could have recorded something and did not
};

class TallyPage {
  public:
    /// May fail (old kernel, no /proc, a limit); then there is no path and nothing is known.
    TallyPage();
    ~TallyPage();
    TallyPage(const TallyPage&) = delete;
    TallyPage& operator=(const TallyPage&) = delete;

    /// For AOTI_DBG_TALLY; empty without a page.
    [[nodiscard]] const std::string& path() const { return path_; }
    /// The calling process is the one that is started. For the child of a fork, before it executes.
    void mark_start() const;
    [[nodiscard]] std::optional<Seen> seen() const;
    /// Of the library that was loaded, as it says; empty where it does not, or none was.
    [[nodiscard]] std::string library_version() const;
    /// When the page was made, which is the moment that %t means.
    [[nodiscard]] std::int64_t start_unix_ns() const { return start_unix_ns_; }

  private:
    int descriptor_ = -1;
    tally::Page* page_ = nullptr;
    std::int64_t start_unix_ns_ = 0;
    std::string path_;
};

}  // namespace aoti_dbg
