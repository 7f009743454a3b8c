// Precompiled once for tests that read JSON. json_headers.cpp has the code of what is extern here, so that no
// test compiles it again.
#pragma once

#include <nlohmann/json.hpp>

#include "tests/support/catch_headers.hpp"

namespace aoti_dbg::test {

using JsonBytes = nlohmann::detail::iterator_input_adapter<std::string::const_iterator>;

}  // namespace aoti_dbg::test

extern template class nlohmann::basic_json<>;
extern template class nlohmann::detail::serializer<nlohmann::json>;
extern template class nlohmann::detail::lexer<nlohmann::json, aoti_dbg::test::JsonBytes>;
extern template class nlohmann::detail::parser<nlohmann::json, aoti_dbg::test::JsonBytes>;
