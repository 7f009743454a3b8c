// The groups in which people look for an option. The reference page (options_document.cpp) lists options in
// this order. An option that is not named here belongs to the last group.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace aoti_dbg {

struct OptionGroup {
    std::string_view title;
    std::string_view fields;  // as in options.def, each with a blank before and behind it
};

inline constexpr std::array<OptionGroup, 6> kOptionGroups = {{
    {"What to see", " pytorch_level level format stats check "},
    {"What to select", " filter kernels runs calls side tensors scope processes suppress "},
    {"Where it goes", " out log pt_layout torch_save_dir portable_names verdict_file "},
    {"When something is wrong", " triage on_finding on_fault hang on_hang completion keep_dump ci "},
    {"Memory and speed",
     " reuse sync on_full max_tensor staging max_bytes max_files keep save_on writers ring max_reports "},
    {"Rest", " config evidence "},
}};

/// The number of the group in kOptionGroups.
constexpr std::size_t group_of(std::string_view field) {
    for (std::size_t group = 0; group < kOptionGroups.size(); ++group) {
        std::string_view fields = kOptionGroups[group].fields;
        for (std::size_t at = fields.find(field); at != std::string_view::npos;
             at = fields.find(field, at + 1))
            if (fields[at - 1] == ' ' && fields[at + field.size()] == ' ') return group;
    }
    return kOptionGroups.size() - 1;
}

}  // namespace aoti_dbg
