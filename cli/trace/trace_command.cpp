#include "cli/trace/trace_command.hpp"

#include "cli/torch_trace_option.hpp"
#include "cli/trace/trace.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr const char* kTraceExamples =
    "Examples:\n"
    "  aoti-dbg trace                             the newest run\n"
    "  aoti-dbg trace recording/                  writes recording/trace.pftrace\n"
    "  aoti-dbg trace recording/ --output /tmp/a.pftrace\n"
    "\n"
    "Open the file at https://ui.perfetto.dev. It stays in your browser.\n";

}  // namespace

void TraceCommand::add_to(CLI::App& app) {
    CLI::App& own = declare(app, "Write a recording as a Perfetto trace.", kTraceExamples);
    add_value(own, {"place", "An output directory, or an events.jsonl. Default: aoti_dbg."}, place_);
    add_value(own, {"--output", "Write the trace to this new file. Default: trace.pftrace.", "FILE"},
              output_);
    add_value(own, torch_trace_option(), torch_trace_);
}

int TraceCommand::run() {
    return trace({place_, output_, torch_trace_});
}

}  // namespace aoti_dbg::cli
