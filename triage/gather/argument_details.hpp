// The arguments of a call as its model's source has them (kept_source.hpp): names, who wrote them last, dtype
// and sizes; with numbers, places in memory and values where the launch's parameters or the process's map of
// tensors say them. What is not certain is left out.
#pragma once

#include <string>
#include <vector>

#include "model/launched_tensors.hpp"
#include "model/symbols.hpp"
#include "serializer/tensor_map.hpp"
#include "triage/gather/kept_source.hpp"
#include "triage/judge/crash_report.hpp"

namespace aoti_dbg {

class ArgumentDetails {
  public:
    /// `names` and `source` as find_source() has them; `parameters` are those of the launch, as its kernel
    /// got them, empty: not known. `tensors` are those of the call's run. All outlive it.
    ArgumentDetails(const FoundSource& source, const std::vector<std::string>& names,
                    const std::string& parameters, const std::vector<TensorOfRun>& tensors);

    /// In the order of the call; where tensors lay only by the launch's parameters.
    [[nodiscard]] std::vector<CrashArgument> arguments() const;

    /// Where they lay by the map of tensors, of those of arguments() of which it is not known yet.
    void add_places(std::vector<CrashArgument>& arguments) const;

  private:
    [[nodiscard]] CrashArgument told(const Argument& argument) const;
    void add_value(const Argument& argument, CrashArgument& told) const;
    void add_layout(const Argument& argument, CrashArgument& told) const;
    void add_place(const Argument& argument, CrashArgument& told) const;
    [[nodiscard]] const std::vector<Argument>& said() const;

    const FoundSource& source_;
    const std::vector<std::string>& names_;
    KernelLaunch launch_;
    const std::vector<TensorOfRun>& tensors_;
    Symbols symbols_;
};

}  // namespace aoti_dbg
