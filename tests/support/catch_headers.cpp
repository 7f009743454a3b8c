// Has the flags of a test, so that the precompiled headers fit all of them.
#include "tests/support/catch_headers.hpp"
