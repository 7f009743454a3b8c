set(exceptions "shim/runtime/gone.hpp shim/calls/calls.hpp")
