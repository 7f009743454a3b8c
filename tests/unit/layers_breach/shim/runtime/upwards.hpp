#include "shim/calls/calls.hpp"
