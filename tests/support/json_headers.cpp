// Compiled with the flags of a test, so that the precompiled headers fit all tests.
#include "tests/support/json_headers.hpp"
