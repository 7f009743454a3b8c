// The JSON parser and writer of all tests.
#include "tests/support/json_headers.hpp"

template class nlohmann::basic_json<>;
template class nlohmann::detail::serializer<nlohmann::json>;
template class nlohmann::detail::lexer<nlohmann::json, aoti_dbg::test::JsonBytes>;
template class nlohmann::detail::parser<nlohmann::json, aoti_dbg::test::JsonBytes>;
