#include "shim/check/race_report.hpp"

#include <string>
#include <string_view>
#include <utility>

#include "serializer/number_text.hpp"
#include "shim/check/call_finding.hpp"
#include "shim/runtime/clock.hpp"
#include "shim/tensors/site_plan.hpp"

namespace aoti_dbg::races {
namespace {

using Use = StreamOrder::Use;

std::string name_of(const Toucher& side) {
    if (side.is_call()) return side.site->kernel;
    const std::string_view exported(side.function);
    return std::string(exported.substr(0, exported.find('_')));
}

const char* verb_of(const Toucher& side, Use use) {
    if (!side.is_call() && std::string_view(side.function).substr(0, 9) == "cuMemFree") return "frees";
    if (use == Use::reads) return "reads";
    return use == Use::writes ? "writes" : "may write";
}

/// Formats "add_kernel_0 (writes it as buf6 in run 3, call 5, on stream 0x5581)".
std::string side_text(const Toucher& side, Use use, const Toucher& other) {
    const std::string does = std::string(" (") + verb_of(side, use) + " it";
    const std::string where = stream_text(side.stream) + ")";
    if (!side.is_call()) return name_of(side) + does + " on " + where;
    std::string text = name_of(side) + does;
    if (side.argument->label != other.argument->label) text += " as " + side.argument->label;
    text += " in run " + std::to_string(side.run) + ", call " + std::to_string(side.call);
    if (side.model != other.model) text += " of model " + std::to_string(side.model);
    return text + ", on " + where;
}

}  // namespace

void report_race(const Toucher& later, StreamOrder::Use later_use, const StreamOrder::Conflict& conflict) {
    const bool is_about_later = later.is_call();
    const Toucher& call = is_about_later ? later : conflict.earlier;
    if (!call.is_call()) return;
    const std::string other = is_about_later
                                  ? "after " + side_text(conflict.earlier, conflict.earlier_use, call)
                                  : "before " + side_text(later, later_use, call);
    Finding finding;
    finding.sequence = call.sequence;
    finding.time_ns = unix_nanoseconds();
    finding.thread = call.thread;
    finding.stream = call.stream;
    finding.model = call.model;
    finding.run = call.run;
    finding.call = call.call;
    add_site(*call.site, finding);
    add_tensor(*call.argument, nullptr, finding);
    finding.other = name_of(is_about_later ? conflict.earlier : later);
    finding.is_of_the_past = !is_about_later;
    report_mismatch(
        std::move(finding),
        {std::string(kOrderCheck), "an event or a wait " + other, "none",
         "let the later stream wait for an event recorded after the earlier access (cudaStreamWaitEvent, "
         "torch.cuda.Stream.wait_stream), or run both on one stream"});
}

}  // namespace aoti_dbg::races
