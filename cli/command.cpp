// See command.hpp.
#include "cli/command.hpp"

namespace aoti_dbg::cli {

Status Command::take_program(std::vector<std::string>&) {
    return {};
}

int Command::refuse(std::string_view fault) const {
    cli::refuse(name_, fault);
    return wrong_usage_;
}

CLI::App& Command::declare(CLI::App& app, const char* description, const char* examples) const {
    return *app.add_subcommand(name_, description)->footer(examples)->group("Commands");
}

}  // namespace aoti_dbg::cli
