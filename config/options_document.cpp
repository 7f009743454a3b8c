// Prints docs/options.md. A program of its own, built and run by scripts/generate-options-doc.
#include <cstdio>
#include <string>

#include "config/options_table.hpp"

namespace {

constexpr const char* kOpening =
    R"(<!-- Generated from config/options.def by scripts/generate-options-doc. Do not edit. -->
# Options

Options are environment variables, read once when the library is loaded. Those with a flag can be given to
`aoti-dbg run`, which sets the variable for the program that it starts; most can stand in a configuration file, too.
A value that is not understood is reported on standard error, as is a variable that begins with `AOTI_DBG_` and is not
known; then the default is taken. An empty value counts as unset.
)";

constexpr const char* kFile = R"(
## The configuration file

A file named by `AOTI_DBG_CONFIG` or `--config` holds one JSON object. Its keys are those named above, and `rules`:

```json
{
  "level": "names",
  "kernels": ["triton_*", "!*_poi_*"],
  "rules": [
    {"kernels": "*_fused_sum_*", "runs": "::1000", "side": "after"},
    {"kernels": "triton_per_*", "level": 0}
  ]
}
```

- Strings mean what they mean in a variable. A list is as if each of its elements had been given.
- A rule has `kernels` and any of `level`, `runs`, `calls`, `side`. The first rule whose kernels match a name decides
  for it; what that rule does not say is as for all others. `kernels` outside of the rules says which names are
  selected at all: no rule brings back another. A rule can raise the level where it is 0 for all.
- The environment wins over the file, and the file over the defaults; PyTorch's variables win over the file, too. A
  variable that is set to a value that it takes replaces its option also in the file's rules, whose `kernels` stay.
- What is wrong in a file is reported with line and column, both counted from 1, columns in characters, and left out. A
  file that is not JSON is left out as a whole, as is one of more than 1 MiB. Of a key that stands twice in an object
  the first counts. Of many complaints the first eight are shown.
)";

}  // namespace

int main() {
    std::string page = kOpening;
    for (const aoti_dbg::OptionInfo& option : aoti_dbg::option_table()) {
        const auto code = [](std::string_view text) { return "`" + std::string(text) + "`"; };
        page += "\n## " + code(option.variable) + "\n\n" + std::string(option.help) + "\n\n";
        page += "- values: " + std::string(option.values) + "\n";
        page += "- default: " + (option.standard.empty() ? "unset" : code(option.standard)) + "\n";
        if (!option.flag.empty()) page += "- flag of `aoti-dbg run`: " + code(option.flag) + "\n";
        if (!option.key().empty())
            page += "- in a configuration file: " + code(option.key()) + ", " +
                    std::string(form_in_words(option.form)) + "\n";
    }
    page += kFile;
    return std::fputs(page.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? 1 : 0;
}
