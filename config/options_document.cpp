// Prints docs/reference/options.md. scripts/generate-options-doc builds and runs this program.
#include <cstdio>
#include <string>
#include <vector>

#include "config/options_table.hpp"

namespace {

constexpr const char* kOpening =
    R"(<!-- Generated from config/options.def by scripts/generate-options-doc. Do not edit. -->
# Options

Every option is an environment variable. The library reads all of them once, when it is loaded. `aoti-dbg run` has a
flag for most options and sets the variable for the program that it starts. Most options also work in a
[configuration file](#the-configuration-file).

- An empty value counts as unset.
- An invalid value is reported on standard error, and the default is used.
- An unknown variable that starts with `AOTI_DBG_` is reported, too.
- A flag wins over the environment, the environment over the file, and the file over the default.
)";

constexpr const char* kFile = R"(
## Flags without a variable

| flag of `aoti-dbg run` | effect | page |
|---|---|---|
| `--require WORD` | exits with 123 if no `library`, `model` or `launch` is seen; `none` turns it off | [exit codes](exit-codes.md) |
| `--error-exitcode N` | exits with N if there are findings | [exit codes](exit-codes.md) |
| `--annotate WORD` | prints findings as annotations of a CI system: `github` or `none` | [run in CI](../tasks/run-in-ci.md) |
| `--capture-verify` | replays the captured launches after the program has ended | [capture only what goes wrong](../tasks/capture-failures.md#check-what-is-captured) |
| `--junit FILE` | writes findings as JUnit XML | [run in CI](../tasks/run-in-ci.md) |

## The configuration file

`AOTI_DBG_CONFIG` or `--config` names a file with one JSON object. Its keys are those given above, and `rules`:

<!-- no schema: an input, which the library checks itself -->
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

- A string means the same as in a variable. A list means all of its elements.
- A rule has `kernels` and any of `level`, `runs`, `calls`, `side`. The first rule whose kernels match a name applies to
  it. What that rule does not set, it takes from the general options.
- `kernels` outside of the rules decides which names are selected at all. A rule cannot add names.
- A rule can raise the level of its kernels when the general level is 0.
- The environment overrides the file and what its rules set, but not the `kernels` of the rules. This includes
  PyTorch's variables.
- An error is reported with line and column, both counted from 1, and the entry is ignored. The first eight errors are
  shown. A file that is not JSON, or larger than 1 MiB, is ignored as a whole. If a key appears twice in an object, the
  first one counts.
)";

std::string code(std::string_view text) {
    return "`" + std::string(text) + "`";
}

/// Turns each path of a reference page into a link.
std::string with_links(std::string text) {
    constexpr std::string_view kFolder = "docs/reference/";
    constexpr std::string_view kEnding = ".md";
    for (std::size_t at = text.find(kFolder); at != std::string::npos; at = text.find(kFolder, at)) {
        const std::size_t end = text.find(kEnding, at);
        if (end == std::string::npos) break;
        const std::string page = text.substr(at + kFolder.size(), end - at - kFolder.size());
        std::string link = "[";
        link.append(page).append("](").append(page).append(".md)");
        text.replace(at, end + kEnding.size() - at, link);
        at += link.size();
    }
    return text;
}

// In the order of option_table(), which must not carry these texts into the library.
constexpr const char* kDetails[] = {
#define AOTI_DBG_OPTION(field, variable, flag, form, group, frequency, value_name, values, standard, brief, \
                        details)                                                                            \
    details,
#include "config/options.def"
#undef AOTI_DBG_OPTION
};

std::string section_of(const aoti_dbg::OptionInfo& option, const char* details) {
    std::string text = "\n### " + code(option.variable) + "\n\n";
    if (!option.flag.empty()) text += "- flag: " + code(option.flag) + "\n";
    text += "- values: " + std::string(option.values) + "\n";
    text += "- default: " + (option.standard.empty() ? "unset" : code(option.standard)) + "\n";
    if (!option.key().empty())
        text += "- in a configuration file: " + code(option.key()) + ", " +
                std::string(form_in_words(option.form)) + "\n";
    return text + "\n" + with_links(details) + "\n";
}

}  // namespace

int main() {
    std::string page = kOpening;
    const std::vector<aoti_dbg::OptionInfo>& options = aoti_dbg::option_table();
    for (const aoti_dbg::OptionGroup group : aoti_dbg::kOptionGroups) {
        page += "\n## " + std::string(aoti_dbg::title_of(group)) + "\n";
        for (std::size_t i = 0; i < options.size(); ++i)
            if (options[i].group == group) page += section_of(options[i], kDetails[i]);
    }
    page += kFile;
    return std::fputs(page.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? 1 : 0;
}
