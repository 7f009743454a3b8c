// See doctor.hpp. Child processes do what may crash or hang. This file only passes facts to checks.
#include "cli/doctor/doctor.hpp"

#include <algorithm>
#include <csignal>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/words.hpp"
#include "cli/doctor/doctor_child.hpp"
#include "cli/doctor/doctor_machine.hpp"
#include "cli/doctor/doctor_trials.hpp"
#include "cli/print.hpp"
#include "config/options.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::size_t kStateWidth = 9;
constexpr std::size_t kNameWidth = 13;

std::string padded(std::string text, std::size_t width) {
    text.resize(std::max(text.size() + 1, width), ' ');
    return text;
}

const char* word_of(CheckState state) {
    switch (state) {
        case CheckState::ok:
            return "ok";
        case CheckState::warning:
            return "warning";
        case CheckState::failure:
            break;
    }
    return "failure";
}

std::size_t count_of(CheckState state, const std::vector<Check>& checks) {
    return static_cast<std::size_t>(std::count_if(
        checks.begin(), checks.end(), [state](const Check& check) { return check.state == state; }));
}

void add(std::vector<Check>& checks, std::vector<Check> more) {
    checks.insert(checks.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

std::vector<Check> all_checks(const DoctorRequest& request) {
    std::vector<std::string> complaints;
    const Options options = parse_options(process_sources(), complaints);
    const DriverFacts driver = try_driver(request.deadline);
    const auto [library, doors] = try_library(driver, request.deadline);
    std::vector<Check> checks = {check_library(library), check_driver(driver)};
    add(checks, check_gpus(driver));
    checks.push_back(check_python(python_facts()));
    checks.push_back(check_doors(doors));
    add(checks, check_interposers(interposer_facts()));
    checks.push_back(check_dumps(driver));
    checks.push_back(check_output(output_facts(options)));
    add(checks, check_limits(limit_facts(options, driver.has_gpu())));
    add(checks, check_options(complaints));
    if (request.fault) checks.push_back(check_fault(try_fault(driver, request.deadline), kFaultKernel));
    return checks;
}

}  // namespace

std::string doctor_text(const std::vector<Check>& checks) {
    std::string text;
    for (const Check& check : checks) {
        const std::string state = check.state == CheckState::failure ? "FAILURE" : word_of(check.state);
        text += padded(state, kStateWidth) + padded(check.name, kNameWidth) + check.text + "\n";
        if (!check.advice.empty()) text += std::string(kStateWidth + kNameWidth, ' ') + check.advice + "\n";
    }
    return text + counted(checks.size(), "check") + ": " + std::to_string(count_of(CheckState::ok, checks)) +
           " ok, " + counted(count_of(CheckState::warning, checks), "warning") + ", " +
           counted(count_of(CheckState::failure, checks), "failure") + "\n";
}

std::string doctor_json(const std::vector<Check>& checks) {
    using Json = nlohmann::ordered_json;
    Json list = Json::array();
    for (const Check& check : checks) {
        Json& to = list.emplace_back(
            Json{{"name", check.name}, {"state", word_of(check.state)}, {"text", check.text}});
        if (!check.advice.empty()) to["advice"] = check.advice;
    }
    const Json whole = {{"format", "aoti-dbg-doctor"},
                        {"version", 1},
                        {"library", AOTI_DBG_VERSION},
                        {"checks", list},
                        {"ok", count_of(CheckState::ok, checks)},
                        {"warnings", count_of(CheckState::warning, checks)},
                        {"failures", count_of(CheckState::failure, checks)}};
    // Device and file names may be any bytes, but JSON must be UTF-8.
    return whole.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int doctor(const DoctorRequest& request) {
    // An inherited SIG_IGN would lose the children's exit status.
    std::signal(SIGCHLD, SIG_DFL);
    const std::vector<Check> checks = all_checks(request);
    const int written = print(request.json ? doctor_json(checks) : doctor_text(checks));
    return count_of(CheckState::failure, checks) != 0 ? 1 : written;
}

}  // namespace aoti_dbg::cli
