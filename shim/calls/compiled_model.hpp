// A function that torch.compile compiled, as a part of its model.
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "base/compiled_function.hpp"
#include "shim/calls/models.hpp"
#include "shim/calls/parts.hpp"

namespace aoti_dbg {

struct CompiledModel {
    explicit CompiledModel(CompiledFunction known) : function(std::move(known)) {}
    CompiledFunction function;
    std::atomic<bool> is_introduced{false};  // in the log
};

/// Returns null for other models. Takes no lock.
inline CompiledModel* compiled_model(std::uint16_t number) {
    const Parts* const parts = model_parts(number);
    return parts == nullptr ? nullptr : parts->find<CompiledModel>();
}

}  // namespace aoti_dbg
