// The functions that door.py calls, as Python sees them. None of them raises.
#pragma once

#include <span>

#include "shim/python/python_api.hpp"

namespace aoti_dbg::python {

std::span<Method> door_functions();

}  // namespace aoti_dbg::python
