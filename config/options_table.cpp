// options.def as data.
#include "config/options_table.hpp"

namespace aoti_dbg {

const std::vector<OptionInfo>& option_table() {
    static const std::vector<OptionInfo> table = {
#define AOTI_DBG_OPTION(field, variable, flag, values, standard, help) \
    {#field, variable, flag, values, standard, help},
#include "config/options.def"
#undef AOTI_DBG_OPTION
    };
    return table;
}

}  // namespace aoti_dbg
