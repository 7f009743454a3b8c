// Shared by the tests of `aoti-dbg run --triage`: a run of the command in a folder of its own, and the fake
// model that dies at a given call. Contains no checks.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "tests/preload/preload_support.hpp"
#include "tests/support/places.hpp"
#include "tests/support/unwrapped.hpp"

namespace aoti_dbg::test {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// `aoti-dbg run FLAGS -- PROGRAM` in a folder of its own, writing to out().
class Run {
  public:
    explicit Run(const Lines& flags, const Lines& program, Variables env = {}) {
        env.insert({"AOTI_DBG_OUT", out().string()});
        env.insert({"AOTI_DBG_VERDICT_FILE", verdict_file().string()});
        again(flags, program, env);
    }
    void again(const Lines& flags, const Lines& program, const Variables& env) {
        Lines arguments = joined({places::kTool, "run"}, flags);
        arguments.emplace_back("--");
        outcome = run_bare(joined(arguments, program), env, std::chrono::seconds(120), folder_.path());
    }
    [[nodiscard]] fs::path folder() const { return folder_.path(); }
    [[nodiscard]] fs::path out() const { return folder() / "out"; }
    [[nodiscard]] fs::path verdict_file() const { return folder() / "verdict"; }
    [[nodiscard]] Json report(const std::string& name = "report.json") const {
        return Json::parse(read_text(out() / name));
    }
    [[nodiscard]] bool has_report() const { return !Preloaded::files(out(), "report").empty(); }
    [[nodiscard]] std::string verdict() const { return report().at("verdict").get<std::string>(); }

    Outcome outcome;

  private:
    TempFolder folder_;
};

inline Variables dying(int call, int signal) {
    return {{"FAKE_TORCH_DIE_AT", std::to_string(call)}, {"FAKE_TORCH_DIE_BY", std::to_string(signal)}};
}

inline const Lines kThreeRuns = model_host({"--runs", "3", model_path("cpu")});
inline const Lines kTriage = {"--triage"};

/// "kernel (run R, call C)" of the fake model's call with that number, counted from 1.
inline std::string place_of(int number) {
    const auto in_all = static_cast<std::size_t>(number - 1);
    return kOneRun[in_all % kOneRun.size()] + " (run " + std::to_string(in_all / kOneRun.size()) + ", call " +
           std::to_string(in_all % kOneRun.size()) + ")";
}

/// `aoti-dbg report FOLDER`.
inline Outcome reported(const fs::path& folder) {
    return run_bare({places::kTool, "report", folder.string()}, {}, std::chrono::seconds(120));
}

}  // namespace aoti_dbg::test
