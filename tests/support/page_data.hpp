// The data of a page that `aoti-dbg report --html` wrote, with whole columns. Contains no checks.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace aoti_dbg::test {

using Json = nlohmann::json;

/// Returns null if the page has no data, or more than one element for it.
inline Json data_in(const std::string& page) {
    const std::string begin = R"(<script type="application/json" id="data">)";
    const std::size_t at = page.find(begin);
    if (at == std::string::npos || page.find(begin, at + 1) != std::string::npos) return nullptr;
    const std::size_t end = page.find("</script>", at);
    return Json::parse(page.substr(at + begin.size(), end - at - begin.size()), nullptr, false);
}

/// Returns the whole list of a column of integers.
inline std::vector<std::int64_t> column(const Json& column_in_short) {
    std::vector<std::int64_t> whole;
    if (column_in_short.is_array()) return column_in_short.get<std::vector<std::int64_t>>();
    if (column_in_short.contains("rle")) {
        const Json& pairs = column_in_short["rle"];
        for (std::size_t i = 0; i + 1 < pairs.size(); i += 2)
            whole.insert(whole.end(), pairs[i + 1].get<std::size_t>(), pairs[i].get<std::int64_t>());
        return whole;
    }
    if (column_in_short.contains("dict")) {
        const std::vector<std::int64_t> values = column(column_in_short["dict"]);
        for (const std::int64_t index : column(column_in_short["index"]))
            whole.push_back(values.at(static_cast<std::size_t>(index)));
        return whole;
    }
    whole = column(column_in_short["delta"]);
    for (std::size_t i = 1; i < whole.size(); ++i)
        whole[i] += whole[i - 1];
    return whole;
}

/// Returns the kernel's name of each row.
inline std::vector<std::string> kernels_of_rows(const Json& page) {
    std::vector<std::string> names;
    const std::vector<std::int64_t> kernels = column(page["sites"]["kernel"]);
    for (const std::int64_t site : column(page["rows"]["site"]))
        names.push_back(page["kernels"][kernels.at(static_cast<std::size_t>(site))]["name"]);
    return names;
}

}  // namespace aoti_dbg::test
