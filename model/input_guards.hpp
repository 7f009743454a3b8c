// Reads the input checks that Inductor compiles into every model and disables by default
// (AOTI_RUNTIME_CHECK_INPUTS). They say for which dtype, sizes, strides and device each input was compiled.
#pragma once

#include <cstdint>
#include <vector>

#include "model/reading_limits.hpp"
#include "model/statement.hpp"
#include "model/wrapper_info.hpp"

namespace aoti_dbg {

class InputGuardReader {
  public:
    /// `guards` gets an entry for each check_input_<position>, in source order.
    InputGuardReader(std::vector<InputGuard>& guards, Keeper& keeper) : guards_(guards), keeper_(keeper) {}

    /// Call this for every statement of the wrapper source, in order.
    void see(const Statement& statement);

  private:
    void begin(const Statement& statement);
    void see_declaration(const Statement& statement);
    void see_condition(const Statement& statement);
    [[nodiscard]] bool is_about(std::string_view word, std::string_view suffix) const;

    std::vector<InputGuard>& guards_;
    Keeper& keeper_;
    bool is_inside_ = false;  // inside a check function, for the last of `guards_`
};

/// Returns whether code that reads an input's memory relies on the exported strides. It does if a kernel gets
/// the address or the source takes a view. An op that gets the tensor itself uses the actual strides.
bool relies_on_strides(const RunBody& run, std::string_view input);

}  // namespace aoti_dbg
