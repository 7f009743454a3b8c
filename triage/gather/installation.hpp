// Where this command and its library are installed.
#pragma once

#include <optional>
#include <string>

namespace aoti_dbg {

/// The file of this program; empty if the system does not say.
std::string own_program();

/// The library that belongs to this command. Looks beside the command, in the lib folders of its prefix, and
/// where Python package managers put the wheel's package. If several places have a library, the first one of
/// this command's version wins, else the first one.
std::optional<std::string> find_library();

/// The version of a library, read from its file. Empty if the file does not say.
std::string library_version(const std::string& library);

}  // namespace aoti_dbg
