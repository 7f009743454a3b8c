// The files of processes that share a folder, also of processes that had the same number.
#include "cli/process_files.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/run_program.hpp"

namespace aoti_dbg::cli::process_files_test {
namespace {

void write_events(const std::filesystem::path& path, int pid) {
    test::write_text(path, R"({"event":"header","format":"aoti-dbg-events","version":1,"pid":)" +
                               std::to_string(pid) + "}\n");
}

TEST_CASE("Each process of a folder has its own files, also under a number that was used before") {
    const test::TempFolder folder;
    for (const char* name : {"events.jsonl", "events-7.jsonl", "events-7.jsonl.2", "timeline-7.jsonl.2"})
        write_events(folder.path() / name, 7);
    write_events(folder.path() / "events-8.jsonl", 8);
    for (const char* name : {"events.jsonl.gz", "events.txt", "events-9.jsonl.", "2"})
        write_events(folder.path() / name, 9);
    const std::vector<ProcessFiles> processes = processes_below(folder.path().string());
    REQUIRE(processes.size() == 4);
    CHECK(processes[0].events == (folder.path() / "events-7.jsonl").string());
    CHECK(processes[1].events == (folder.path() / "events-7.jsonl.2").string());
    CHECK(processes[2].pid == 8);
    CHECK(processes[3].events == (folder.path() / "events.jsonl").string());
}

TEST_CASE("Links are not followed") {
    const test::TempFolder folder;
    const test::TempFolder other;
    write_events(other.path() / "events.jsonl", 7);
    std::filesystem::create_directory_symlink(other.path(), folder.path() / "linked");
    std::filesystem::create_symlink(other.path() / "events.jsonl", folder.path() / "events.jsonl");
    CHECK(processes_below(folder.path().string()).empty());
}

}  // namespace
}  // namespace aoti_dbg::cli::process_files_test
