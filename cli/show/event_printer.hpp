// Prints the events of one process, one after the other, in the format of `aoti-dbg show`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/output_format.hpp"
#include "model/torch_trace.hpp"
#include "serializer/event_compact.hpp"
#include "serializer/event_reader.hpp"
#include "serializer/event_text.hpp"
#include "serializer/finding.hpp"
#include "triage/gather/origin_facts.hpp"

namespace aoti_dbg::cli {

class EventPrinter {
  public:
    /// `folder` is that of the events; its packages say where kernels come from. `trace` may be null, and
    /// must live longer.
    EventPrinter(OutputFormat format, std::optional<std::uint64_t> thread, std::string folder,
                 const TorchTrace* trace);
    EventPrinter(const EventPrinter&) = delete;
    EventPrinter& operator=(const EventPrinter&) = delete;

    void print(const ReadEvent& event, std::string& out);
    /// Returns the number of calls and findings.
    [[nodiscard]] std::uint64_t shown() const { return shown_; }

  private:
    void print_finding(const ReadEvent& event, std::string& out);
    void complete(Finding& finding);

    OutputFormat format_;
    std::optional<std::uint64_t> thread_;
    TextRenderer text_;
    CompactRenderer compact_;
    std::uint64_t shown_ = 0;
    std::string folder_;
    std::uint32_t pid_ = 0;
    std::vector<RecordedProcess> processes_;  // read at the first finding
    OriginFacts origins_;
};

}  // namespace aoti_dbg::cli
