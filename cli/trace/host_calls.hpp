// Writes the host side of one process into a trace: a track for each thread with model, run and call nested,
// counters, and findings. It takes events in the order of events.jsonl, and adds what only the ring has.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "cli/trace/argument_keys.hpp"
#include "cli/trace/argument_text.hpp"
#include "cli/trace/call_origins.hpp"
#include "cli/trace/host_thread.hpp"
#include "cli/trace/model_names.hpp"
#include "cli/trace/trace_names.hpp"
#include "cli/trace/trace_packets.hpp"
#include "serializer/event_reader.hpp"
#include "serializer/facts_cache.hpp"
#include "serializer/finding.hpp"
#include "serializer/flight_ring_reader.hpp"

namespace aoti_dbg::cli {

struct HostProcess {
    std::uint64_t index = 0;  // in the trace
    std::uint32_t pid = 0;
    bool has_device_spans = false;         // so launches get arrows
    const ring::Contents* ring = nullptr;  // null: none
    CallOrigins* origins = nullptr;        // null: only the recording itself says where kernels come from
};

class HostCalls {
  public:
    HostCalls(TracePackets& packets, const HostProcess& process);

    void add_model(const ModelFacts& model) { models_.add(model); }
    void add_call(const ReadEvent& event);
    void add_finding(Finding finding);
    /// Adds what only the ring has, and ends what is open.
    void finish();
    /// Returns the number of calls.
    [[nodiscard]] std::uint64_t calls() const { return calls_; }

  private:
    /// What each start of a call repeats: a name, a category and annotations, as bytes of the trace.
    struct SiteBytes {
        std::uint32_t generation = ~0U;
        std::uint32_t model = ~0U;  // two models may have the same site
        std::string bytes;
    };
    using Type = TracePackets::Type;

    HostThread& thread_of(std::uint64_t thread);
    HostThread& add_thread(std::uint32_t tid);

    void begin_run(HostThread& thread, const OpenSlice& slice, std::uint32_t model, std::uint64_t time_ns,
                   const ReadEvent* event);
    void begin_call(HostThread& thread, const ReadEvent& event);
    void end_call(HostThread& thread, const ReadEvent& event);
    void end_run(HostThread& thread, const ReadEvent& event);
    void enter_record(HostThread& thread, const TimedRecord& record);
    void enter_run_of(HostThread& thread, std::uint32_t run, std::uint32_t model, std::uint32_t depth,
                      std::uint64_t time_ns);
    void write_site(const MeasuredCall& call);
    void write_origin(const SiteFacts& site);
    void write_start(HostThread& thread, const MeasuredCall& call);
    void write_arguments(std::string_view group, const ReadEvent& event);
    void write_counters(std::uint64_t time_ns);

    TracePackets& packets_;
    HostProcess process_;
    ArgumentText texts_;
    FactsCache<SiteBytes> sites_;
    ArgumentKeys keys_;
    ModelNames models_;
    std::unordered_map<std::uint32_t, std::unique_ptr<HostThread>> threads_;
    std::uint32_t last_tid_ = 0;
    HostThread* last_thread_ = nullptr;
    std::uint64_t calls_ = 0;
    std::uint64_t nan_ = 0;                        // in the tensors that the call wrote
    std::uint64_t shown_nan_ = ~std::uint64_t{0};  // in the trace; all bits set: nothing yet
    std::uint64_t written_ = 0;                    // bytes, by all calls
    std::uint64_t shown_written_ = ~std::uint64_t{0};
    bool has_ends_ = false;
    bool has_findings_track_ = false;
};

}  // namespace aoti_dbg::cli
