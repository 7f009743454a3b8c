// Precompiled once for tests that read JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "tests/support/catch_headers.hpp"
