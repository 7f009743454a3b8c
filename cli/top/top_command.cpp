#include "cli/top/top_command.hpp"

#include "cli/top/top.hpp"
#include "cli/whole_number.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::size_t kUsualKernels = 20;

constexpr const char* kTopExamples =
    "Examples:\n"
    "  aoti-dbg top                               kernels of the newest run\n"
    "  aoti-dbg top recording/ --limit 50\n"
    "  aoti-dbg top 4242                          a running process, every second\n"
    "\n"
    "Times are device times if the recording has them (run --timeline), else host\n"
    "times.\n";

}  // namespace

void TopCommand::add_to(CLI::App& app) {
    CLI::App& own = declare(app, "List kernels by time.", kTopExamples);
    add_value(own, {"place", "An output directory, or the id of a running process. Default: aoti_dbg."},
              place_);
    add_value(own, {"--limit", "List at most this many kernels. Default: 20.", "N"}, limit_);
    accepts(add_value(own, {"--format", "Output format: text or json.", "FORMAT"}, format_),
            {"text", "json"});
}

int TopCommand::run() {
    const std::optional<std::size_t> limit =
        limit_.empty() ? kUsualKernels : whole_number<std::size_t>(limit_);
    if (!limit) return refuse(wrong_value("--limit", limit_, "a number of kernels", {}));
    if (format_ != "text" && format_ != "json")
        return refuse(wrong_value("--format", format_, "a format", {"text", "json"}));
    return top({place_, *limit, format_ == "json"});
}

}  // namespace aoti_dbg::cli
