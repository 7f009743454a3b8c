// Patterns in the names of folders and files: %p pid, %h host, %r rank, %t time, %q{VAR} a variable, %% a per
// cent sign.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config/options.hpp"

namespace aoti_dbg {

/// The process that %p means and the moment that %t means.
struct Origin {
    int pid = 0;
    std::int64_t unix_seconds = 0;

    static Origin here_and_now();
};

/// What is wrong with a pattern: `unknown pattern "%z" (...)`. Empty where it is valid.
std::string pattern_fault(std::string_view pattern);

/// %t is local time as 20261121-093000. An invalid % stays as it stands.
std::string expand_pattern(std::string_view pattern, const Environment& environment,
                           const Origin& origin = Origin::here_and_now());

/// RANK, LOCAL_RANK or SLURM_PROCID, the first that is set; nullptr where this is no rank of anything.
const char* rank_of(const Environment& environment);

/// `text` as a pattern that stands for itself.
std::string as_pattern(std::string_view text);

/// A relative pattern put behind `folder`, whose name stands for itself. One that begins with a variable may
/// be absolute by what that holds.
std::string anchored_pattern(const std::string& pattern, const std::string& folder,
                             const Environment& environment);

}  // namespace aoti_dbg
