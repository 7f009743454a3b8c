// Shared by the tests of whole processes: a victim under the library with a log and an output folder of its
// own, and the expected log of the fake models. Contains no checks.
#pragma once

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/places.hpp"
#include "tests/support/run_program.hpp"

namespace aoti_dbg::test {

using Lines = std::vector<std::string>;

/// A sanitizer's runtime is in the program: it refuses RTLD_DEEPBIND, and its memory grows.
#ifdef AOTI_DBG_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#ifdef AOTI_DBG_THREAD_SANITIZED
inline constexpr bool kThreadSanitized = true;
#else
inline constexpr bool kThreadSanitized = false;
#endif
// After a fork beside other threads, the child may find a sanitizer's allocator locked forever.
inline constexpr bool kChildrenCanAllocate = !kSanitized;

/// Whether the children of fork_victim can finish in this mode.
inline bool children_can(const std::string& mode) {
    return kChildrenCanAllocate || (mode != "child_runs" && mode != "fork_in_thread");
}

inline std::string victim_path(const std::string& name) {
    return std::string(places::kVictims) + "/" + name;
}

inline std::string model_path(const std::string& variant) {
    return std::string(places::kFakes) + "/" + variant + "/data/aotinductor/model/c" + variant +
           ".wrapper.so";
}

inline Lines model_host(Lines arguments) {
    arguments.insert(arguments.begin(), victim_path("model_host"));
    return arguments;
}

/// The calls of one run of the fake model, by the names of PyTorch's printer. It does not print the ops of
/// proxy executor and dispatcher, which have their own names.
inline const Lines kOneRun = {
    "aoti_torch_cpu_addmm_out", "cpp_fused_relu_0",   "cpp_fused_mul_1",    "cpp_fused_mixed_2",
    "cpp_fused_doubles_3",      "cpp_fused_cat_200",  "cpp_fused_cat_1000", "at::_ops::sort_stable::call",
    "at::_ops::cat::call",      "mylib::scale",       "mylib::bias",        "mylib::shift.default",
    "at::_ops::neg::call",      "at::_ops::abs::call"};

inline std::string before(const std::string& name) {
    return "[ before_launch: " + name + " ]";
}

inline std::string after(const std::string& name) {
    return "[ after_launch: " + name + " ]";
}

/// The log of these calls in sequence.
inline Lines log_of(const Lines& names) {
    Lines lines;
    for (const std::string& name : names) {
        lines.push_back(before(name));
        lines.push_back(after(name));
    }
    return lines;
}

inline Lines times(int count, const Lines& lines) {
    Lines all;
    for (int i = 0; i < count; ++i)
        all.insert(all.end(), lines.begin(), lines.end());
    return all;
}

inline Lines joined(Lines first, const Lines& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

/// The lines without blank ones, because a killed process leaves its log padded with those.
inline Lines lines_of(const std::string& text) {
    Lines lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        if (!line.empty()) lines.push_back(line);
    }
    return lines;
}

/// A victim under the library, at level 3 unless `env` says otherwise, logging to log() and writing to out().
class Preloaded {
  public:
    explicit Preloaded(const Lines& argv, Variables env = {}) {
        env.insert({"AOTI_DBG_LEVEL", "3"});
        env.insert({"AOTI_DBG_LOG", log().string()});
        env.insert({"AOTI_DBG_OUT", out().string()});
        outcome = run_preloaded(argv, env, std::chrono::seconds(120), folder().string());
    }

    [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }
    [[nodiscard]] std::filesystem::path log() const { return folder() / "log"; }
    [[nodiscard]] std::filesystem::path out() const { return folder() / "out"; }
    [[nodiscard]] Lines log_lines() const { return lines_of(read_text(log())); }

    /// The paths in `where` whose file name starts with `prefix`, in order.
    [[nodiscard]] static std::vector<std::filesystem::path> files(const std::filesystem::path& where,
                                                                  const std::string& prefix) {
        std::vector<std::filesystem::path> found;
        std::error_code none;
        for (const auto& entry : std::filesystem::directory_iterator(where, none)) {
            if (entry.path().filename().string().rfind(prefix, 0) == 0) found.push_back(entry.path());
        }
        std::sort(found.begin(), found.end());
        return found;
    }

    /// The flight rings of the processes that the victim started, each in a folder of its own.
    [[nodiscard]] std::vector<std::filesystem::path> rings_of_others() const {
        std::vector<std::filesystem::path> rings;
        for (const std::filesystem::path& folder : files(out(), "")) {
            const std::vector<std::filesystem::path> inside = files(folder, "flight");
            rings.insert(rings.end(), inside.begin(), inside.end());
        }
        return rings;
    }

    /// The output of `aoti-dbg show --all` for a ring or a folder.
    [[nodiscard]] static std::string show(const std::filesystem::path& place) {
        return run_program({places::kTool, "show", "--all", place.string()}).out;
    }
    [[nodiscard]] std::string show() const { return show(out()); }

    Outcome outcome;

  private:
    TempFolder folder_;
};

/// The rows of `show` that name this call.
inline Lines rows_with(const std::string& shown, const std::string& name) {
    Lines rows;
    for (const std::string& line : lines_of(shown)) {
        if (line.find(" " + name + " ") != std::string::npos) rows.push_back(line);
    }
    return rows;
}

inline bool ends_with(const std::string& text, const std::string& end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace aoti_dbg::test
