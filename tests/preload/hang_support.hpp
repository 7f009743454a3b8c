// Shared by the tests of hangs: watched programs under `aoti-dbg run`, and the ways in which a program waits.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/preload/preload_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"

namespace aoti_dbg::test {

namespace fs = std::filesystem;
using Json = nlohmann::json;

inline const Lines kWatched = {"--hang", "1"};
inline const Lines kAborting = {"--hang", "1", "--on-hang", "abort"};

inline Lines victim(const std::string& how) {
    return {victim_path("hang"), how};
}

/// A program under `aoti-dbg run FLAGS`, in a folder of its own. `meanwhile` is a shell script that waits for
/// a condition and then signals "$run", the process of the command.
class WatchedRun {
  public:
    WatchedRun(const Lines& flags, const Lines& program, const std::string& meanwhile = "",
               Variables env = {}) {
        const Lines command = joined(joined({places::kTool, "run"}, flags), joined({"--"}, program));
        env.insert({"AOTI_DBG_OUT", out().string()});
        env.insert({"OUT", out().string()});
        env.insert({"TOOL", places::kTool});
        const std::string script = "\"$@\" & run=$!\n" + meanwhile + "\nwait $run";
        outcome = run_bare(meanwhile.empty() ? command : joined({"bash", "-c", script, "bash"}, command), env,
                           std::chrono::seconds(120), folder_.path());
    }
    [[nodiscard]] fs::path folder() const { return folder_.path(); }
    [[nodiscard]] fs::path out() const { return folder() / "out"; }
    [[nodiscard]] bool has_report() const { return fs::exists(out() / "report.json"); }
    [[nodiscard]] Json report() const {
        CAPTURE(outcome.out, outcome.err);
        REQUIRE(has_report());
        return Json::parse(read_text(out() / "report.json"));
    }
    [[nodiscard]] Json hang(const fs::path& folder) const {
        CAPTURE(outcome.out, outcome.err);
        REQUIRE(fs::exists(folder / "hang.json"));
        return Json::parse(read_text(folder / "hang.json"));
    }

    Outcome outcome;

  private:
    TempFolder folder_;
};

/// Each way to wait, with the call that it uses.
inline const std::vector<std::pair<std::string, std::string>> kWaits = {
    {"stream", "cuStreamSynchronize"}, {"context", "cuCtxSynchronize"}, {"event", "cuEventSynchronize"},
    {"copy", "cuMemcpyDtoH"},          {"query", "cuStreamQuery"},      {"event_query", "cuEventQuery"}};

}  // namespace aoti_dbg::test
