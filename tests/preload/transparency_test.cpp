// Every victim bare and with the library preloaded: the same output, the same end. Must not compare anything
// that differs between runs of a program by itself.
#include <csignal>

#include "tests/preload/preload_support.hpp"
#include "tests/support/catch.hpp"

namespace aoti_dbg::test::transparency_test {
namespace {

struct Case {
    std::string what;
    Lines argv;
    Variables env;
};

std::vector<Case> host_cases() {
    std::vector<Case> cases;
    for (const char* variant :
         {"cpu", "lazy", "relro", "noplt", "bare", "other", "throwing", "printer", "thousand"}) {
        cases.push_back({variant, model_host({"--runs", "3", model_path(variant)}), {}});
    }
    const std::string cpu = model_path("cpu");
    for (const Lines& options : std::vector<Lines>{{"--deepbind"},
                                                   {"--local-torch"},
                                                   {"--two-runners"},
                                                   {"--reload", "5"},
                                                   {"--then", model_path("other")},
                                                   {"--throw"},
                                                   {"--error"},
                                                   {"--single"},
                                                   {"--weights"},
                                                   {"--threads", "4", "--runs", "20"},
                                                   {model_path("other"), "--threads", "4", "--runs", "20"}}) {
        if (kSanitized && options.front() == "--deepbind") continue;
        std::string what = "model_host";
        for (const std::string& option : options)
            what += " " + option;
        cases.push_back({what, model_host(joined(options, {cpu})), {}});
    }
    cases.push_back({"throwing through Run", model_host({"--throw", model_path("throwing")}), {}});
#ifdef AOTI_DBG_HAS_FAKE_CUDA
    cases.push_back({"cuda", model_host({"--cuda", "--runs", "3", model_path("cuda")}), {}});
#endif
    for (const char* signal : {"11", "6", "9", "0"}) {
        cases.push_back({std::string("dies by ") + signal,
                         model_host({"--runs", "3", cpu}),
                         {{"FAKE_TORCH_DIE_AT", "20"}, {"FAKE_TORCH_DIE_BY", signal}}});
    }
    cases.push_back({"handles its own SIGSEGV",
                     model_host({"--handle-segv", cpu}),
                     {{"FAKE_TORCH_DIE_AT", "3"}, {"FAKE_TORCH_DIE_BY", "11"}}});
    return cases;
}

std::vector<Case> other_cases() {
    const std::string cpu = model_path("cpu");
    std::vector<Case> cases = {{"linked_model", {victim_path("linked_model"), "3"}, {}},
                               {"linked_static", {victim_path("linked_static"), "3"}, {}},
                               {"threads_churn", {victim_path("threads_churn"), "40", cpu}, {}},
                               {"exec_victim", {victim_path("exec_victim"), cpu}, {}},
                               {"env_print", {victim_path("env_print")}, {}},
                               {"env_print after a run", {victim_path("env_print"), cpu}, {}},
                               {"no such program", {victim_path("model_host"), "/nowhere/model.so"}, {}},
                               {"a program without a model", {"/bin/echo", "hello"}, {}}};
    for (const char* mode : {"fork_while_running", "child_runs", "fork_in_thread", "vfork_exec", "os_exit"}) {
        if (kThreadSanitized)
            continue;  // its runtime does not carry threads across a fork and reports itself
        if (!children_can(mode)) continue;
        cases.push_back({mode, {victim_path("fork_victim"), mode, cpu}, {}});
    }
    return cases;
}

void check_same(const Case& victim) {
    CAPTURE(victim.what);
    const TempFolder elsewhere;
    const Outcome bare = run_bare(victim.argv, victim.env, std::chrono::seconds(120), elsewhere.path());
    REQUIRE_FALSE(bare.timed_out);
    for (const char* level : {"0", "3"}) {
        for (const char* scope : {"model", "all"}) {
            CAPTURE(level, scope);
            Variables env = victim.env;
            env["AOTI_DBG_LEVEL"] = level;
            env["AOTI_DBG_SCOPE"] = scope;
            const Preloaded watched(victim.argv, env);
            CAPTURE(watched.outcome.err);
            CHECK(watched.outcome.out == bare.out);
            CHECK(watched.outcome.exit_code == bare.exit_code);
            CHECK(watched.outcome.signal == bare.signal);
            CHECK_FALSE(watched.outcome.timed_out);
            if (*level == '0') {
                CHECK(watched.outcome.err == bare.err);
                CHECK(std::filesystem::is_empty(watched.folder()));
            }
        }
    }
}

TEST_CASE("A program that loads models prints and ends the same with the library and without") {
    for (const Case& victim : host_cases())
        check_same(victim);
}

TEST_CASE("Programs that fork, exec, link a model or have none print and end the same") {
    for (const Case& victim : other_cases())
        check_same(victim);
}

TEST_CASE(
    "A program that closed a standard descriptor finds only its own bytes in the file with its number") {
    for (const char* when : {"exec", "late"}) {
        for (const char* number : {"0", "1", "2"}) {
            for (const char* log : {"", "stderr", "stdout"}) {
                CAPTURE(when, number, log);
                // A program that requests lines on a descriptor and closes it late gets them there.
                if (std::string(when) == "late" && *log != '\0') continue;
                const TempFolder data;
                Variables env;
                if (*log != '\0') env["AOTI_DBG_LOG"] = log;
                const Preloaded watched({victim_path("closed_stderr"), when, number,
                                         (data.path() / "data").string(), model_path("cpu")},
                                        env);
                CAPTURE(watched.outcome.err, read_text(data.path() / "data"));
                CHECK(watched.outcome.exit_code == 0);
            }
        }
    }
}

TEST_CASE("A program that never touches a model creates nothing and prints nothing at level 3") {
    for (const Lines& argv : std::vector<Lines>{{"/bin/true"}, {"/bin/sh", "-c", "/bin/true; (exit 3)"}}) {
        const Preloaded watched(argv);
        CHECK(watched.outcome.err.empty());
        CHECK(std::filesystem::is_empty(watched.folder()));
    }
}

TEST_CASE("A million launches leave the process as large as before") {
#ifdef AOTI_DBG_SANITIZED
    WARN("skipped: a sanitizer keeps freed memory");
#else
    const Lines argv = {victim_path("million_launches"), "1000000", model_path("cpu")};
    for (const char* level : {"0", "3"}) {
        const Preloaded watched(argv, {{"AOTI_DBG_LEVEL", level}});
        CHECK(watched.outcome.out == "same results\nflat\n");
        CHECK(watched.outcome.exit_code == 0);
    }
#endif
}

}  // namespace
}  // namespace aoti_dbg::test::transparency_test
