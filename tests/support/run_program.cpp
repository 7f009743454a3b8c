// See run_program.hpp. Output goes to memory files, not pipes. Nothing can block, and a grandchild that keeps
// them open delays nothing.
#include "tests/support/run_program.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <future>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace aoti_dbg::test {
namespace {

#ifdef AOTI_DBG_PRELOAD_FIRST
constexpr std::string_view kPreloadFirst = AOTI_DBG_PRELOAD_FIRST;
#else
constexpr std::string_view kPreloadFirst;
#endif
#ifdef AOTI_DBG_LIBRARY
constexpr std::string_view kLibrary = AOTI_DBG_LIBRARY;
#else
constexpr std::string_view kLibrary;
#endif

// Sanitizers must not turn a victim's fatal signal into an exit, or report what the victim leaks.
constexpr const char* kSanitizerOptions =
    "detect_leaks=0:handle_segv=0:handle_abort=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0";

class MemoryFile {
  public:
    MemoryFile() : descriptor_(memfd_create("captured", MFD_CLOEXEC)) {
        if (descriptor_ < 0) throw std::runtime_error("memfd_create failed");
    }
    ~MemoryFile() { close(descriptor_); }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;
    [[nodiscard]] int descriptor() const { return descriptor_; }
    [[nodiscard]] std::string text() const {
        std::string all;
        std::array<char, 65536> piece{};
        ssize_t count = 0;
        while ((count = pread(descriptor_, piece.data(), piece.size(), static_cast<off_t>(all.size()))) > 0) {
            all.append(piece.data(), static_cast<std::size_t>(count));
        }
        return all;
    }

  private:
    int descriptor_;
};

bool is_ours(std::string_view variable) {
    return variable.substr(0, 9) == "AOTI_DBG_" || variable.substr(0, 26) == "AOT_INDUCTOR_DEBUG_INTERME" ||
           variable.substr(0, 21) == "AOT_INDUCTOR_FILTERED";
}

/// Starts the program as the leader of a new process group. Returns 0 or an errno.
int start(std::vector<std::string> argv, std::vector<std::string> entries, const std::string& cwd, int out,
          int err, pid_t& child) {
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, err, STDERR_FILENO);
    if (!cwd.empty()) posix_spawn_file_actions_addchdir_np(&files, cwd.c_str());
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    sigset_t signals;
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes, &signals);
    const int failed = posix_spawnp(&child, argv.front().c_str(), &files, &attributes, pointers(argv).data(),
                                    pointers(entries).data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return failed;
}

void wait_until_dead(pid_t child) {
    siginfo_t info{};
    while (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
}

}  // namespace

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    result.reserve(texts.size() + 1);
    for (std::string& text : texts)
        result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

std::vector<std::string> environment_with(const Variables& added) {
    Variables all;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        const std::size_t equals = text.find('=');
        if (equals == std::string_view::npos || is_ours(text.substr(0, equals))) continue;
        all[std::string(text.substr(0, equals))] = text.substr(equals + 1);
    }
    if (!kPreloadFirst.empty()) {
        all.insert({"ASAN_OPTIONS", kSanitizerOptions});
        all.insert({"TSAN_OPTIONS", kSanitizerOptions});
    }
    for (const auto& [name, value] : added)
        all[name] = value;
    std::vector<std::string> entries;
    entries.reserve(all.size());
    for (const auto& [name, value] : all)
        entries.emplace_back(name).append("=").append(value);
    return entries;
}

Outcome run_program(const std::vector<std::string>& argv, const Variables& env, std::chrono::seconds timeout,
                    const std::string& cwd) {
    const MemoryFile out;
    const MemoryFile err;
    Outcome outcome;
    pid_t child = -1;
    const int failed = start(argv, environment_with(env), cwd, out.descriptor(), err.descriptor(), child);
    if (failed != 0) {
        outcome.exit_code = 127;
        outcome.err = "cannot start " + argv.front() + ": " + std::strerror(failed);
        return outcome;
    }
    // The child is only observed here and reaped below, so its process id cannot be reused meanwhile.
    std::future<void> dead = std::async(std::launch::async, wait_until_dead, child);
    outcome.timed_out = dead.wait_for(timeout) != std::future_status::ready;
    if (outcome.timed_out) kill(child, SIGKILL);
    dead.wait();
    kill(-child, SIGKILL);
    int status = 0;
    while (waitpid(child, &status, 0) == -1 && errno == EINTR) {
    }
    if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
    outcome.out = out.text();
    outcome.err = err.text();
    return outcome;
}

std::string preload_value(const std::string& library) {
    std::string value(kPreloadFirst);
    const std::string own = library.empty() ? std::string(kLibrary) : library;
    if (!value.empty() && !own.empty()) value += ':';
    return value + own;
}

Outcome run_bare(const std::vector<std::string>& argv, const Variables& env, std::chrono::seconds timeout,
                 const std::string& cwd) {
    Variables with_runtime = env;
    if (!kPreloadFirst.empty()) with_runtime.insert({"LD_PRELOAD", std::string(kPreloadFirst)});
    return run_program(argv, with_runtime, timeout, cwd);
}

Outcome run_preloaded(const std::vector<std::string>& argv, const Variables& env,
                      std::chrono::seconds timeout, const std::string& cwd) {
    if (kLibrary.empty()) throw std::logic_error("this build has no libaoti_dbg.so to preload");
    Variables with_library = env;
    std::string& preload = with_library["LD_PRELOAD"];
    preload = preload_value() + (preload.empty() ? "" : ":" + preload);
    return run_program(argv, with_library, timeout, cwd);
}

namespace {

/// Copies the JSON files below `from` to a new directory below `to`, where tests/schemas validates them. It
/// first removes the files of earlier processes.
void collect_outputs(const std::filesystem::path& from, const std::filesystem::path& to) {
    constexpr std::uintmax_t kMostBytes = std::uintmax_t{4} << 20U;
    std::error_code ignored;
    static const std::uintmax_t removed = std::filesystem::remove_all(to, ignored);
    (void)removed;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(from, ignored)) {
        const std::string name = entry.path().filename().string();
        const bool is_json = name.find(".json") != std::string::npos || name.rfind("verdict", 0) == 0;
        if (!is_json || !entry.is_regular_file(ignored) || entry.file_size(ignored) > kMostBytes) continue;
        const std::filesystem::path copy =
            to / from.filename() / std::filesystem::relative(entry.path(), from, ignored);
        std::filesystem::create_directories(copy.parent_path(), ignored);
        std::filesystem::copy_file(entry.path(), copy, std::filesystem::copy_options::overwrite_existing,
                                   ignored);
    }
}

}  // namespace

TempFolder::TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "aoti-dbg-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
    path_ = name;
}

TempFolder::~TempFolder() {
    if (const char* const to = std::getenv("AOTI_DBGTEST_COLLECT"); to != nullptr) collect_outputs(path_, to);
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

void keep_output(const std::string& name, const std::string& text) {
    if (std::getenv("AOTI_DBGTEST_COLLECT") == nullptr) return;
    const TempFolder folder;
    write_text(folder.path() / name, text);
}

std::string read_text(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

void write_text(const std::filesystem::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

}  // namespace aoti_dbg::test
