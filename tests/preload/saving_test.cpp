// Level 1 on whole processes. Every tensor of the fake model's calls is a file under its name, however the
// program ends, and the program does not notice. tests/models checks the files' contents.
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "tests/preload/saved_files.hpp"
#include "tests/support/catch.hpp"

namespace aoti_dbg::test::saving_test {
namespace {

namespace fs = std::filesystem;

const Variables kLevel1 = {{"AOTI_DBG_LEVEL", "1"}};

Variables level_1(Variables more) {
    more.insert(kLevel1.begin(), kLevel1.end());
    return more;
}

TEST_CASE("A tensor of each argument of each call is saved, by the names that PyTorch documents") {
    const Preloaded watched(model_host({"--runs", "2", model_path("cpu")}), kLevel1);
    CHECK(watched.outcome.exit_code == 0);
    check_whole(watched);
    const Lines all = saved(watched);
    for (const char* run : {"run0000/", "run0001/"}) {
        CHECK(of_call(all, run + std::string("call0001")) ==
              Lines{"after_launch_cpp_fused_relu_0_arg0_1_cpu.pt",
                    "after_launch_cpp_fused_relu_0_buf0_cpu.pt",
                    "before_launch_cpp_fused_relu_0_arg0_1_cpu.pt",
                    "before_launch_cpp_fused_relu_0_buf0_cpu.pt"});
        // The same weight is passed twice.
        CHECK(of_call(all, run + std::string("call0000")) ==
              Lines{"after_launch_aoti_torch_cpu_addmm_out_arg0_1_cpu.pt",
                    "after_launch_aoti_torch_cpu_addmm_out_buf0_cpu.pt",
                    "after_launch_aoti_torch_cpu_addmm_out_weight_cpu.2.pt",
                    "after_launch_aoti_torch_cpu_addmm_out_weight_cpu.pt",
                    "before_launch_aoti_torch_cpu_addmm_out_arg0_1_cpu.pt",
                    "before_launch_aoti_torch_cpu_addmm_out_buf0_cpu.pt",
                    "before_launch_aoti_torch_cpu_addmm_out_weight_cpu.2.pt",
                    "before_launch_aoti_torch_cpu_addmm_out_weight_cpu.pt"});
        CHECK(of_call(all, run + std::string("inputs")) == Lines{"aoti_model_inputs_input0_cpu.pt"});
        CHECK(of_call(all, run + std::string("outputs")) == Lines{"aoti_model_outputs_output0_cpu.pt"});
    }
}

TEST_CASE("The program prints and does the same, with and without saving") {
    for (const Lines& arguments :
         {Lines{"--runs", "3", model_path("cpu")}, Lines{"--threads", "4", "--runs", "5", model_path("cpu")},
          Lines{"--single", model_path("cpu")}, Lines{"--throw", model_path("throwing")},
          Lines{"--reload", "2", model_path("cpu")}, Lines{model_path("cpu"), model_path("other")}}) {
        CAPTURE(arguments);
        const Outcome bare = run_program(model_host(arguments));
        const Preloaded watched(model_host(arguments), kLevel1);
        CHECK(watched.outcome.out == bare.out);
        CHECK(watched.outcome.exit_code == bare.exit_code);
        CHECK(watched.outcome.signal == bare.signal);
        check_whole(watched);
        CHECK(saved(watched).size() > 30);
    }
}

TEST_CASE("A tensor that was already saved becomes a link, and the index says so") {
    const Preloaded watched(model_host({"--runs", "3", model_path("cpu")}), kLevel1);
    std::set<ino_t> contents;
    std::size_t links = 0;
    for (const std::string& line : index_of(watched)) {
        if (member(line, "event") != "file") continue;
        const fs::path path = watched.out() / "tensors" / member(line, "path");
        struct stat is {};
        REQUIRE(stat(path.c_str(), &is) == 0);
        const bool is_new = contents.insert(is.st_ino).second;
        CHECK(is_new == member(line, "linked_to").empty());
        links += is_new ? 0 : 1;
    }
    CHECK(links > contents.size());
}

TEST_CASE("Level 1 prints only the names of calls without tensors to save") {
    const Preloaded watched(model_host({model_path("cpu")}), kLevel1);
    CHECK(watched.log_lines() == log_of({"mylib::shift.default", "at::_ops::neg::call"}));
    CHECK(contains(watched.outcome.err, "tensors saved ("));
    CHECK_FALSE(fs::exists(watched.out() / "events.jsonl"));
}

TEST_CASE("Levels can be combined") {
    const Preloaded watched(model_host({model_path("cpu")}), {{"AOTI_DBG_LEVEL", "names,stats,files"}});
    check_whole(watched);
    CHECK(contains(read_text(watched.log()), "[ before_launch: cpp_fused_relu_0 ]"));
    CHECK(contains(read_text(watched.log()), "[  before_launch - cpp_fused_relu_0 - buf0  ]:"));
    CHECK(saved(watched) == saved(Preloaded(model_host({model_path("cpu")}), kLevel1)));
}

TEST_CASE("Only the selection is saved: kernels, sides, runs, arguments, sizes") {
    const auto only = [](const Variables& variables) {
        const Preloaded watched(model_host({"--runs", "3", model_path("cpu")}), level_1(variables));
        check_whole(watched);
        return saved(watched);
    };
    for (const std::string& path : only({{"AOTI_DBG_KERNELS", "cpp_fused_relu_*"}}))
        CHECK((contains(path, "cpp_fused_relu_0") || contains(path, "/inputs/") ||
               contains(path, "/outputs/")));
    for (const std::string& path : only({{"AOTI_DBG_SIDE", "after"}}))
        CHECK((contains(path, "/after_launch_") || contains(path, "/outputs/")));
    for (const std::string& path : only({{"AOTI_DBG_RUNS", "1"}}))
        CHECK(path.rfind("run0001/", 0) == 0);
    const Lines buffers = only({{"AOTI_DBG_TENSORS", "buf*"}});
    CHECK_FALSE(buffers.empty());
    for (const std::string& path : buffers)
        CHECK(contains(path, "_buf"));
    const Lines small = only({{"AOTI_DBG_MAX_TENSOR", "100"}});
    const Lines everything = only({});
    CHECK(small.size() < everything.size());
}

TEST_CASE("A staging buffer far too small for a run makes the model wait and loses nothing") {
    const Lines program = model_host({"--threads", "4", "--runs", "10", model_path("cpu")});
    const Preloaded narrow(program, level_1({{"AOTI_DBG_STAGING", "1MiB"}, {"AOTI_DBG_WRITERS", "1"}}));
    check_whole(narrow);
    CHECK(saved(narrow).size() == saved(Preloaded(program, kLevel1)).size());
}

TEST_CASE("PyTorch's layout puts all files into one folder and overwrites none of an earlier process") {
    const TempFolder flat;
    const Variables variables =
        level_1({{"AOTI_DBG_PT_LAYOUT", "torch"}, {"AOTI_TORCH_SAVE_DIR", flat.path().string()}});
    const Preloaded first(model_host({model_path("cpu")}), variables);
    const Lines once = files_below(flat.path());
    const Preloaded second(model_host({model_path("cpu")}), variables);
    const Lines twice = files_below(flat.path());
    CHECK(std::count(once.begin(), once.end(), "before_launch_cpp_fused_relu_0_buf0_cpu.pt") == 1);
    CHECK(std::count(once.begin(), once.end(), "before_launch_cpp_fused_relu_0_buf0_cpu.2.pt") == 0);
    CHECK(std::count(twice.begin(), twice.end(), "before_launch_cpp_fused_relu_0_buf0_cpu.2.pt") == 1);
    CHECK(twice.size() == 2 * once.size());
}

TEST_CASE("Where nothing can be written, one line says so and the program continues") {
    const TempFolder place;
    write_text(place.path() / "file", "");
    const Preloaded watched(model_host({"--runs", "2", model_path("cpu")}),
                            level_1({{"AOTI_DBG_OUT", (place.path() / "file" / "out").string()}}));
    CHECK(watched.outcome.exit_code == 0);
    CHECK(watched.outcome.out == run_program(model_host({"--runs", "2", model_path("cpu")})).out);
    CHECK(contains(watched.outcome.err, "No tensors are saved"));
}

TEST_CASE("A cap is reported with the option that raises it, and what was saved before stays whole") {
    const Preloaded watched(model_host({"--runs", "3", model_path("cpu")}),
                            level_1({{"AOTI_DBG_MAX_FILES", "10"}}));
    CHECK(watched.outcome.exit_code == 0);
    CHECK(saved(watched).size() == 10);
    CHECK(saved(watched) == named_in_index(watched));
    CHECK(contains(watched.outcome.err, "AOTI_DBG_MAX_FILES"));
}

TEST_CASE("The last runs are kept, and earlier ones are removed") {
    const Preloaded watched(model_host({"--runs", "6", model_path("cpu")}),
                            level_1({{"AOTI_DBG_KEEP", "last:2"}}));
    CHECK(watched.outcome.exit_code == 0);
    std::set<std::string> runs;
    for (const std::string& path : saved(watched))
        runs.insert(path.substr(0, 7));
    CHECK(runs == std::set<std::string>{"run0004", "run0005"});
}

TEST_CASE("Queued tensors are written when the program or a thread's forked child ends by _exit") {
    struct End {
        Lines program;
        std::size_t processes;
    };
    const std::string forks = victim_path("fork_victim");
    const std::string model = model_path("cpu");
    std::vector<End> ends = {{{forks, "os_exit", model}, 1}, {{forks, "vfork_exec", model}, 1}};
    if (kChildrenCanAllocate) {
        ends.push_back({{forks, "child_runs", model}, 9});
        ends.push_back({{forks, "fork_in_thread", model}, 5});
    }
    for (const End& end : ends) {
        CAPTURE(end.program);
        const Outcome bare = run_program(end.program);
        const Preloaded watched(end.program, kLevel1);
        CHECK(watched.outcome.out == bare.out);
        CHECK(watched.outcome.exit_code == bare.exit_code);
        const std::vector<fs::path> folders = folders_of_tensors(watched.out());
        CHECK(folders.size() >= end.processes);
        for (const fs::path& folder : folders) {
            CAPTURE(folder);
            const Lines index = lines_of(read_text(folder / "index.jsonl"));
            CHECK(member(index.back(), "how") == "complete");
            const auto files = std::count_if(index.begin(), index.end(), [](const std::string& line) {
                return member(line, "event") == "file";
            });
            CHECK(static_cast<std::size_t>(files) == files_below(folder).size() - 1);
        }
    }
}

}  // namespace
}  // namespace aoti_dbg::test::saving_test
