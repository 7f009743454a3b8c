// Expands patterns in names of folders and files: %p process ID, %h host, %r rank, %t time, %q{VAR} a
// variable, %% a percent sign.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config/options.hpp"

namespace aoti_dbg {

/// The process for %p and the time for %t.
struct Origin {
    int pid = 0;
    std::int64_t unix_seconds = 0;

    static Origin here_and_now();
};

/// Returns what is wrong with a pattern, such as `unknown pattern "%z" (...)`. Returns an empty string if it
/// is valid.
std::string pattern_fault(std::string_view pattern);

/// %t is local time in the form 20261121-093000. An invalid % stays unchanged.
std::string expand_pattern(std::string_view pattern, const Environment& environment,
                           const Origin& origin = Origin::here_and_now());

/// Returns the first set variable of RANK, LOCAL_RANK and SLURM_PROCID, or nullptr if the process has no
/// rank.
const char* rank_of(const Environment& environment);

/// Escapes `text`, so that expansion returns it unchanged.
std::string as_pattern(std::string_view text);

/// Places a relative pattern below `folder`, whose name is taken literally. A pattern that starts with a
/// variable may expand to an absolute path.
std::string anchored_pattern(const std::string& pattern, const std::string& folder,
                             const Environment& environment);

}  // namespace aoti_dbg
