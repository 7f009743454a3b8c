// Where this command and its library are installed.
#pragma once

#include <optional>
#include <string>

namespace aoti_dbg {

/// The file of this program; empty if the system does not say.
std::string own_program();

/// The library that belongs to this command: beside it, or in ../lib from there.
std::optional<std::string> find_library();

}  // namespace aoti_dbg
