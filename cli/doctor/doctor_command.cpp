// See doctor_command.hpp.
#include "cli/doctor/doctor_command.hpp"

#include <chrono>

#include "cli/doctor/doctor.hpp"
#include "cli/doctor/doctor_child.hpp"
#include "cli/whole_number.hpp"
#include "config/words.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr unsigned kLongestTrial = 3600;  // seconds

constexpr const char* kDoctorExamples =
    "Examples:\n"
    "  aoti-dbg doctor\n"
    "  aoti-dbg doctor --fault                    also check a GPU fault\n"
    "\n"
    "The exit code is 1 if a check failed, otherwise 0.\n";

}  // namespace

void DoctorCommand::add_to(CLI::App& app) {
    CLI::App& own = declare(app, "Check whether this machine is ready.", kDoctorExamples);
    add_switch(own, {"--fault", "Also make a kernel fault in a child process, and check its report."},
               fault_);
    accepts(add_value(own, {"--format", "Print text or json. Default: text.", "FORMAT"}, format_),
            {"text", "json"});
    add_value(own, {"--seconds", "Time limit of each trial, 1 to 3600. Default: 30.", "N"}, seconds_);
    add_value(own, hidden("--child"), child_);
}

int DoctorCommand::run() {
    if (!child_.empty()) return doctor_child(child_);
    const std::string format = lower_case(format_);
    if (format != "text" && format != "json")
        return refuse(wrong_value("--format", format_, "text or json", {"text", "json"}));
    const unsigned seconds = whole_number<unsigned>(seconds_).value_or(0);
    if (seconds == 0 || seconds > kLongestTrial)
        return refuse(wrong_value("--seconds", seconds_, "1 to 3600", {}));
    return doctor({fault_, format == "json", std::chrono::seconds(seconds)});
}

}  // namespace aoti_dbg::cli
