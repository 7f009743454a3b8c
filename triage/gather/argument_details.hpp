// The arguments of a call from its model's source (kept_source.hpp): names, last writers, dtypes and sizes.
// Numbers, addresses and values come from the launch's parameters or the process's map of tensors. It omits
// what is uncertain.
#pragma once

#include <string>
#include <vector>

#include "model/launched_tensors.hpp"
#include "model/symbols.hpp"
#include "serializer/tensor_map.hpp"
#include "triage/gather/kept_source.hpp"
#include "triage/judge/evidence.hpp"

namespace aoti_dbg {

class ArgumentDetails {
  public:
    /// `names` and `source` are those of find_source(). `parameters` are the launch's kernel parameters;
    /// empty if unknown. `tensors` are those of the call's run. All must outlive it.
    ArgumentDetails(const FoundSource& source, const std::vector<std::string>& names,
                    const std::string& parameters, const std::vector<TensorOfRun>& tensors);

    /// Returns the arguments in call order. Tensor addresses come only from the launch's parameters.
    [[nodiscard]] std::vector<CrashArgument> arguments() const;

    /// Adds addresses from the map of tensors to those of arguments() that have none.
    void add_places(std::vector<CrashArgument>& arguments) const;

  private:
    [[nodiscard]] CrashArgument details_of(const Argument& argument) const;
    void add_value(const Argument& argument, CrashArgument& details) const;
    void add_layout(const Argument& argument, CrashArgument& details) const;
    void add_place(const Argument& argument, CrashArgument& details) const;
    [[nodiscard]] const std::vector<Argument>& source_arguments() const;

    const FoundSource& source_;
    const std::vector<std::string>& names_;
    KernelLaunch launch_;
    const std::vector<TensorOfRun>& tensors_;
    Symbols symbols_;
};

}  // namespace aoti_dbg
