// The memory of one run's body while it is read: which names share a tensor, where tensors are allocated, and
// which are outputs. It fills in RunBody.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

#include "model/call_flow.hpp"
#include "model/expression.hpp"
#include "model/reading_limits.hpp"
#include "model/wrapper_info.hpp"

namespace aoti_dbg {

class BodyMemory {
  public:
    BodyMemory(Keeper& keeper, RunBody& body, Variables& variables, const CallFlow& flow)
        : keeper_(keeper), body_(body), variables_(variables), flow_(flow) {}

    /// Returns the number of the next call site.
    [[nodiscard]] std::uint32_t position() const { return static_cast<std::uint32_t>(body_.sites.size()); }

    /// Returns whether this body has the tensor. Any other word could be anything.
    [[nodiscard]] bool is_known(std::string_view name) const;

    void allocate(std::string_view name, Allocation allocation);
    /// Records a piece of a pool. It is allocated once it gets its name.
    void take_from_pool(std::string_view handle, const Allocation& piece);
    /// Gives the piece with that handle its name. Returns false if there is none.
    bool name_piece(std::string_view handle, std::string_view name);
    void share(std::string_view name, const TensorName& of, SharedMemory::How how);
    void free(std::string_view name);
    void set_input(std::size_t at, std::string_view name);
    void set_output(std::size_t at, TensorName tensor);

  private:
    Keeper& keeper_;
    RunBody& body_;
    Variables& variables_;
    const CallFlow& flow_;
    std::map<std::string_view, Allocation> pools_;  // tmp_tensor_handle_0, until it gets its name
};

}  // namespace aoti_dbg
