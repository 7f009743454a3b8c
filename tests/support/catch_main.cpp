// main() of the test programs under Catch2 2. Version 3 has its own.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
