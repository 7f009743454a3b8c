// An installed `aoti-dbg` for the tests of its commands: a copy beside a stand-in for the library. The
// stand-in only counts itself in the tally (tests/support/stand_in.c).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"
#include "tests/support/run_program.hpp"

namespace aoti_dbg::test {

inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// A copy of the command, with the stand-in in `where` relative to it. `name` is the folder of both.
class Installation {
  public:
    explicit Installation(const std::string& where = ".", const std::string& name = "bin")
        : bin_(folder.path() / name) {
        std::filesystem::create_directories(bin_);
        std::filesystem::create_directories(bin_ / where);
        std::filesystem::copy_file(places::kTool, tool());
        std::filesystem::copy_file(places::kStandIn, library(where));
    }
    [[nodiscard]] std::string tool() const { return bin_ / "aoti-dbg"; }
    [[nodiscard]] std::string library(const std::string& where = ".") const {
        return std::filesystem::canonical(bin_ / where) / "libaoti_dbg.so";
    }
    /// `aoti-dbg run <arguments>`, in a folder of its own.
    [[nodiscard]] Outcome run(std::vector<std::string> arguments, const Variables& env = {}) const {
        arguments.insert(arguments.begin(), {tool(), "run"});
        return run_program(arguments, env, std::chrono::seconds(60), folder.path());
    }
    /// The value of a variable in a program started by `run <arguments>`.
    [[nodiscard]] std::string variable(const std::string& name, std::vector<std::string> arguments = {},
                                       const Variables& env = {}) const {
        // This avoids a shell, because some shells die under a preloaded ThreadSanitizer.
        arguments.insert(arguments.end(), {"--", "printenv", name});
        const Outcome outcome = run(arguments, env);
        CHECK(outcome.err.empty());
        CHECK(outcome.signal == 0);
        return outcome.exit_code == 0 ? outcome.out.substr(0, outcome.out.size() - 1) : "unset";
    }
    TempFolder folder;

  private:
    std::filesystem::path bin_;
};

}  // namespace aoti_dbg::test
