// For tests that link the library's core into their own process: sets the library's options before it reads
// them, and gives access to its records.
#pragma once

#include <cstdlib>
#include <string>

#include "serializer/flight_ring_reader.hpp"
#include "shim/calls/session.hpp"
#include "shim/runtime/names.hpp"
#include "shim/runtime/process.hpp"
#include "shim/runtime/slots.hpp"
#include "tests/support/run_program.hpp"

namespace aoti_dbg::test {

/// One instance per program, because the library reads its options once.
class CoreAtLevel3 {
  public:
    CoreAtLevel3() {
        setenv("AOTI_DBG_LEVEL", "3", 1);
        setenv("AOTI_DBG_LOG", (folder_.path() / "log").c_str(), 1);
        setenv("AOTI_DBG_OUT", (folder_.path() / "out").c_str(), 1);
        setenv("AOT_INDUCTOR_FILTERED_KERNELS_TO_PRINT", "", 1);
        ensure_process_ready();
    }

    /// The level-3 output so far, without the blank rest of a mapped log.
    [[nodiscard]] std::string printed() const {
        std::string text = read_text(folder_.path() / "log");
        while (text.size() > 1 && text[text.size() - 2] == '\n')
            text.pop_back();
        return text;
    }

    [[nodiscard]] std::string ring_path() const { return (folder_.path() / "out" / "flight.ring").string(); }

  private:
    TempFolder folder_;
};

inline CoreAtLevel3& core() {
    static CoreAtLevel3 instance;
    return instance;
}

template <typename Function>
Function* stub_before(Function* real, const std::string& name, std::int32_t stack_words,
                      SlotRole role = SlotRole::call, ring::CallKind kind = ring::CallKind::extern_op) {
    core();
    Slot slot;
    slot.real = reinterpret_cast<void*>(real);
    slot.name = intern_name(name, {});
    slot.stack_words = stack_words;
    slot.role = role;
    slot.kind = kind;
    return reinterpret_cast<Function*>(stub_for(slot));
}

}  // namespace aoti_dbg::test
