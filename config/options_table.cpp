// options.def as data.
#include "config/options_table.hpp"

namespace aoti_dbg {

const std::vector<OptionInfo>& option_table() {
    static const std::vector<OptionInfo> table = {
#define AOTI_DBG_OPTION(field, variable, flag, form, group, frequency, value_name, values, standard, brief, \
                        details)                                                                            \
    {#field,     variable, flag,     FileForm::form, OptionGroup::group, Frequency::frequency,              \
     value_name, values,   standard, brief},
#include "config/options.def"
#undef AOTI_DBG_OPTION
    };
    return table;
}

std::string_view title_of(OptionGroup group) {
    switch (group) {
        case OptionGroup::see:
            return "What to see";
        case OptionGroup::select:
            return "What to select";
        case OptionGroup::output:
            return "Where it goes";
        case OptionGroup::wrong:
            return "When something is wrong";
        case OptionGroup::cost:
            return "Memory, disk and speed";
        case OptionGroup::rest:
            break;
    }
    return "More";
}

std::string_view form_in_words(FileForm form) {
    switch (form) {
        case FileForm::number:
            return "a number or a string";
        case FileForm::list:
            return "a string or a list of strings";
        case FileForm::number_or_list:
            return "a number, a string or a list of strings";
        case FileForm::none:
        case FileForm::string:
            break;
    }
    return "a string";
}

}  // namespace aoti_dbg
