// Compiled with the flags of a test, so that the precompiled headers fit all tests.
#include "tests/support/catch_headers.hpp"
