// Runs a program and reports how it ended, to test whole processes bare and with the library preloaded. It
// must leave behind no process and no descriptor.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace aoti_dbg::test {

struct Outcome {
    std::string out;
    std::string err;
    int exit_code = -1;      // -1 if a signal ended it
    int signal = 0;          // 0 if it exited
    bool timed_out = false;  // signal is SIGKILL then
};

using Variables = std::map<std::string, std::string>;

/// Adds `env` to this process's environment. Variables of the library and of PyTorch's printer in this
/// process's environment are not inherited. Standard input is empty. If the program cannot start, the exit
/// code is 127 and `err` has the reason.
Outcome run_program(const std::vector<std::string>& argv, const Variables& env = {},
                    std::chrono::seconds timeout = std::chrono::seconds(60), const std::string& cwd = "");

/// Runs the baseline for a preloaded run: without the library, but in a sanitized build with the sanitizer's
/// run-time library, which also changes a program.
Outcome run_bare(const std::vector<std::string>& argv, const Variables& env = {},
                 std::chrono::seconds timeout = std::chrono::seconds(60), const std::string& cwd = "");

/// Runs the program under the library, which comes first in LD_PRELOAD. Only a sanitizer's run-time library
/// precedes it.
Outcome run_preloaded(const std::vector<std::string>& argv, const Variables& env = {},
                      std::chrono::seconds timeout = std::chrono::seconds(60), const std::string& cwd = "");

/// The environment of a program, as NAME=value.
std::vector<std::string> environment_with(const Variables& env);

/// Returns pointers as exec and spawn take them, valid as long as `texts`.
std::vector<char*> pointers(std::vector<std::string>& texts);

/// The LD_PRELOAD value of run_preloaded(). An empty `library` means our own.
std::string preload_value(const std::string& library = "");

/// A new directory below the system's temporary directory, removed with its contents. AOTI_DBGTEST_COLLECT
/// names a directory that gets a copy of its JSON files, which tests/schemas validates.
class TempFolder {
  public:
    TempFolder();
    ~TempFolder();
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

/// Keeps a document that a test rendered without writing it, as file `name` in its own directory, for
/// tests/schemas. Does nothing unless AOTI_DBGTEST_COLLECT is set.
void keep_output(const std::string& name, const std::string& text);

/// Returns the contents of a file, or an empty string if it cannot be read.
std::string read_text(const std::filesystem::path& path);
void write_text(const std::filesystem::path& path, const std::string& text);

}  // namespace aoti_dbg::test
