// The checks of inputs that Inductor compiles into every model and leaves off (AOTI_RUNTIME_CHECK_INPUTS),
// read from the wrapper source: which dtype, sizes, strides and device each input was compiled for.
#pragma once

#include <cstdint>
#include <vector>

#include "model/reading_limits.hpp"
#include "model/statement.hpp"
#include "model/wrapper_info.hpp"

namespace aoti_dbg {

class InputGuardReader {
  public:
    /// `guards` gets an entry for each check_input_<position>, in the order of the source.
    InputGuardReader(std::vector<InputGuard>& guards, Keeper& keeper) : guards_(guards), keeper_(keeper) {}

    /// To be shown every statement of the wrapper source, in order.
    void see(const Statement& statement);

  private:
    void begin(const Statement& statement);
    void see_declaration(const Statement& statement);
    void see_condition(const Statement& statement);
    [[nodiscard]] bool is_about(std::string_view word, std::string_view suffix) const;

    std::vector<InputGuard>& guards_;
    Keeper& keeper_;
    bool is_inside_ = false;  // of such a function: the last of `guards_`
};

/// Whether the code that reads an input's memory goes by the strides of the export: a kernel gets its
/// address, or a view of it is taken. An op that is handed the tensor itself goes by those that it has.
bool relies_on_strides(const RunBody& run, std::string_view input);

}  // namespace aoti_dbg
