// Runs a program and says how it ended: for tests of whole processes, bare and with the library preloaded.
// Must leave nothing behind: no process, no descriptor.
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
    int exit_code = -1;      // -1 when a signal ended it
    int signal = 0;          // 0 when it exited
    bool timed_out = false;  // then it was killed: signal is SIGKILL
};

using Variables = std::map<std::string, std::string>;

/// `env` is added to this process's environment; a variable of our own or of PyTorch's printer that stands in
/// this process's environment is not passed on. The program's standard input is empty. A program that cannot
/// be started ends with exit code 127 and the reason in `err`.
Outcome run_program(const std::vector<std::string>& argv, const Variables& env = {},
                    std::chrono::seconds timeout = std::chrono::seconds(60), const std::string& cwd = "");

/// What a preloaded run is compared to: without the library, but, in a sanitized build, with the sanitizer's
/// run-time library, which changes a program in ways of its own.
Outcome run_bare(const std::vector<std::string>& argv, const Variables& env = {},
                 std::chrono::seconds timeout = std::chrono::seconds(60), const std::string& cwd = "");

/// The same under the library: LD_PRELOAD gets it in front, after a sanitizer's run-time library where the
/// build has one.
Outcome run_preloaded(const std::vector<std::string>& argv, const Variables& env = {},
                      std::chrono::seconds timeout = std::chrono::seconds(60), const std::string& cwd = "");

/// The environment that a program is run in, as NAME=value.
std::vector<std::string> environment_with(const Variables& env);

/// As exec and spawn take them; good as long as `texts` is.
std::vector<char*> pointers(std::vector<std::string>& texts);

/// What run_preloaded puts into LD_PRELOAD; `library` empty: our own.
std::string preload_value(const std::string& library = "");

/// A fresh folder under the system's temp directory, removed with all that lies in it. AOTI_DBGTEST_COLLECT
/// names a folder that gets a copy of its JSON files, which tests/schemas validates.
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

/// Keeps a document that a test rendered without writing it, as file `name` of a folder of its own, for
/// tests/schemas. Does nothing unless AOTI_DBGTEST_COLLECT is set.
void keep_output(const std::string& name, const std::string& text);

/// The whole of a file; empty when it cannot be read.
std::string read_text(const std::filesystem::path& path);
void write_text(const std::filesystem::path& path, const std::string& text);

}  // namespace aoti_dbg::test
