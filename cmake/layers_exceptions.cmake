# Includes that still violate layers.cmake: "file header". Never add one.
set(exceptions
    "shim/calls/driver_waits.cpp shim/faults/completion_markers.hpp")
