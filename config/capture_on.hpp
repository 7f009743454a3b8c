// What --capture-on implies for other options, and which of them contradict it. Pure.
#pragma once

#include <string>

#include "config/options.hpp"

namespace aoti_dbg {

/// Returns why other options contradict --capture-on and what to do, in whole sentences, or an empty text.
std::string contradiction_of_capture_on(const Options& options);

/// Sets the options that --capture-on implies. Overwrites values that contradict it.
void settle_capture_on(Options& options);

}  // namespace aoti_dbg
