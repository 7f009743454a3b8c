// See commands.hpp.
#include "cli/commands.hpp"

#include <string>

#include "cli/doctor/doctor_command.hpp"
#include "cli/explain/explain_command.hpp"
#include "cli/help_formatter.hpp"
#include "cli/report/report_command.hpp"
#include "cli/run/run_command.hpp"
#include "cli/show/show_command.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  aoti-dbg run -- python infer.py            print each kernel\n"
    "  aoti-dbg run --triage -- python infer.py   explain a crash\n"
    "  aoti-dbg show aoti_dbg                     print the last calls\n"
    "  aoti-dbg doctor                            check this machine\n";

}  // namespace

Commands all_commands() {
    Commands commands;
    commands.push_back(std::make_unique<RunCommand>());
    commands.push_back(std::make_unique<ShowCommand>());
    commands.push_back(std::make_unique<ReportCommand>());
    commands.push_back(std::make_unique<ExplainCommand>());
    commands.push_back(std::make_unique<DoctorCommand>());
    return commands;
}

void declare_all(CLI::App& app, const Commands& commands, const std::string& version) {
    app.set_version_flag("--version", version, "Print the version and what it supports.");
    app.set_help_flag("-h,--help", "Print this help.");
    app.formatter(std::make_shared<HelpFormatter>());
    app.require_subcommand(1);
    app.footer(kExamples);
    for (const std::unique_ptr<Command>& command : commands)
        command->add_to(app);
}

}  // namespace aoti_dbg::cli
