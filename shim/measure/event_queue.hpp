// What launching threads have seen and nobody has written out yet, in the order in which they saw it. Any
// number of threads put in, one takes out. Of fixed size: nothing is allocated in steady state.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "config/options.hpp"
#include "serializer/measured_event.hpp"
#include "shim/measure/arguments.hpp"
#include "shim/measure/stream_point.hpp"
#include "shim/measure/tensor_reader.hpp"

namespace aoti_dbg {

/// What was measured by the host, at once.
struct MeasuredOnHost {
    TensorStatistics statistics;
    std::vector<std::byte> values;
};

struct SeenArgument {
    const ArgumentFacts* facts = nullptr;
    std::shared_ptr<const SeenFacts> tensor;  // null: a scalar
    ShortText scalar;
    std::uint64_t address = 0;
    Measured measured = Measured::no;
    const char* why_not = "";
    Wanted wanted = Wanted::nothing;
    Measurement measurement;  // of the device, where there is a Gpu and no `on_host`
    std::unique_ptr<MeasuredOnHost> on_host;
};

struct SeenCall {
    MeasuredCall call;  // its arguments are elsewhere
    bool printed = false;
    Check check;
    StreamPoint* point = nullptr;  // where its tensors are measured
    Gpu* gpu = nullptr;            // that results come from
    Gpu::Mark mark;
};

class EventQueue {
  public:
    /// False where there is no room: nothing was taken. Else `arguments` are moved out.
    bool put(const SeenCall& call, std::vector<SeenArgument>& arguments);

    /// False where there is nothing. `arguments` is replaced.
    bool take(SeenCall& call, std::vector<SeenArgument>& arguments);

    [[nodiscard]] std::uint64_t puts() const { return puts_.load(std::memory_order_acquire); }

  private:
    static constexpr std::size_t kMostCalls = 8192;
    static constexpr std::size_t kMostArguments = 65536;
    struct Entry {
        SeenCall call;
        std::uint32_t arguments = 0;
    };

    std::mutex mutex_;
    std::vector<Entry> calls_;
    std::vector<SeenArgument> arguments_;
    std::uint64_t first_call_ = 0;
    std::uint64_t first_argument_ = 0;
    std::uint64_t next_argument_ = 0;
    std::atomic<std::uint64_t> puts_{0};  // the number of the next call
};

}  // namespace aoti_dbg
