// The single include for tests of Catch2 2.13 or 3. Use only names that both versions have: TEST_CASE,
// SECTION, CHECK, REQUIRE, INFO, CAPTURE, GENERATE. Catch::Matchers::Contains is not one of them.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
