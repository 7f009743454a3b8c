// See commands.hpp.
#include "cli/commands.hpp"

#include <string>

#include "cli/bundle/bundle_command.hpp"
#include "cli/diff/diff_command.hpp"
#include "cli/doctor/doctor_command.hpp"
#include "cli/explain/explain_command.hpp"
#include "cli/inspect/inspect_command.hpp"
#include "cli/replay/replay_command.hpp"
#include "cli/report/report_command.hpp"
#include "cli/run/run_command.hpp"
#include "cli/show/show_command.hpp"
#include "cli/top/top_command.hpp"
#include "cli/trace/trace_command.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr const char* kDescription = "Show what AOTInductor models do, on the unchanged binary.";

constexpr const char* kExamples =
    "Examples:\n"
    "  aoti-dbg run -- python infer.py            print each kernel\n"
    "  aoti-dbg run --triage -- python infer.py   explain a crash\n"
    "  aoti-dbg show aoti_dbg                     print the last calls\n"
    "  aoti-dbg report --html                     write a page for a browser\n"
    "  aoti-dbg trace                             write a Perfetto trace\n"
    "  aoti-dbg diff before/ after/               find where two runs diverge\n"
    "  aoti-dbg replay aoti_dbg                   run captured launches alone\n"
    "  aoti-dbg inspect model.pt2                 print inputs, kernels, constants\n"
    "  aoti-dbg doctor                            check this machine\n";

}  // namespace

Commands all_commands() {
    Commands commands;
    commands.push_back(std::make_unique<RunCommand>());
    commands.push_back(std::make_unique<ShowCommand>());
    commands.push_back(std::make_unique<ReportCommand>());
    commands.push_back(std::make_unique<TraceCommand>());
    commands.push_back(std::make_unique<TopCommand>());
    commands.push_back(std::make_unique<DiffCommand>());
    commands.push_back(std::make_unique<ReplayCommand>());
    commands.push_back(std::make_unique<BundleCommand>());
    commands.push_back(std::make_unique<InspectCommand>());
    commands.push_back(std::make_unique<ExplainCommand>());
    commands.push_back(std::make_unique<DoctorCommand>());
    return commands;
}

AppPointer declare_all(const Commands& commands, const std::string& version) {
    AppPointer app = make_app(kDescription, kExamples, version);
    for (const std::unique_ptr<Command>& command : commands)
        command->add_to(*app);
    return app;
}

}  // namespace aoti_dbg::cli
