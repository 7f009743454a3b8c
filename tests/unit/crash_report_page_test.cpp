// The pages of a report: complete with hostile and long contents, and in the order of use.
#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/clean_text.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/crash_report_fixture.hpp"
#include "triage/render/report_page.hpp"

namespace aoti_dbg::test::crash_report_page_test {
namespace {

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// A report with names and texts of `length` bytes everywhere.
Evidence filled(const std::string& unit, std::size_t length) {
    std::string name;
    while (name.size() < length)
        name += unit;
    Evidence evidence = crash_inside(name);
    CrashCall& call = evidence.in_flight.front();
    call.model_name = name;
    call.line = 812;
    call.original_aten = call.source_nodes = call.python_lines = {name, name, name};
    evidence.end.program = name;
    evidence.command = {name, "--" + name};
    for (int i = 0; i < 40; ++i) {
        evidence.before.push_back(call_of(name, 1, 5));
        evidence.arguments.push_back({name, name, name});
        evidence.notes.push_back(name);
    }
    evidence.driver_lines.push_back({.text = name, .thread = 7});
    evidence.versions = {{name, name}};
    evidence.variables = {{name, name}};
    DeviceFault& fault = evidence.device.emplace();
    for (std::string* text : {&fault.kernel, &fault.device, &fault.grid, &fault.block_size, &fault.block,
                              &fault.thread, &fault.address, &fault.file, &fault.source, &fault.parameter})
        *text = name;
    fault.error = 700;
    fault.line = 7;
    evidence.finding = Finding{};
    evidence.finding->kernel = name;
    evidence.finding->suppression = name;
    evidence.finding_count = 12;
    return evidence;
}

const std::vector<std::string> kUnits = {"x",        "a b ",         "\"\\",     "\n\x01\x7f",
                                         "\xff\xfe", "\xE2\x82\xAC", "\xC2\x85", "\xF0\x9F\x94\xA5 "};

}  // namespace

TEST_CASE("A report has every name in full, and no control characters, whatever its contents") {
    for (const std::string& unit : kUnits) {
        for (const std::size_t length : {1, 60, 99, 100, 101, 5000}) {
            CAPTURE(unit, length);
            const Evidence evidence = filled(unit, length);
            std::string name;
            append_clean(evidence.in_flight.front().name, name);
            const bool has_blanks = name.find(' ') != std::string::npos;
            std::istringstream lines(text_of(evidence));
            std::size_t whole = 0;
            for (std::string line; std::getline(lines, line);) {
                // Only a word that is longer than a line makes the line longer. A quoted name is one word.
                const bool is_word = !has_blanks || line.find('\'') != std::string::npos;
                CHECK((characters_in(line) <= kReportColumns || is_word));
                CHECK(std::none_of(line.begin(), line.end(),
                                   [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }));
                whole += line.find(name) == std::string::npos ? 0 : 1;
            }
            // A name with spaces is spread over lines.
            const bool is_one_word = length > 60 && !has_blanks;
            CHECK((!is_one_word || whole >= 40));
        }
    }
}

TEST_CASE("A report leaves nothing out, and starts with what the reader needs first") {
    Evidence evidence = crash_inside("mylib::my_op");
    CrashCall& call = evidence.in_flight.front();
    call.inside = std::string(100, 'x');
    evidence.end.program = std::string(100, 'p');
    evidence.end.exit_status = 3;
    call.original_aten = call.source_nodes = {"my_op"};
    evidence.versions = {{"cuda:0", std::string(70, 'a')}, {"cuda:1", std::string(70, 'b')}};
    evidence.finding = Finding{};
    evidence.finding->run = 9;
    evidence.finding->suppression = "nan in k - " + std::string(100, 'y');
    for (int i = 10; i < 40; ++i) {
        const std::string number = std::to_string(i);
        evidence.before.push_back(call_of("before_" + number));
        evidence.also_in_flight.push_back(call_of("other_" + number));
        evidence.arguments.push_back({"buf" + number, "float32", "writer_" + number});
        evidence.notes.push_back("note " + number);
    }
    const std::string text = text_of(evidence);
    for (int i = 10; i < 40; ++i)
        for (const char* name : {"before_", "other_", "buf", "writer_", "note "})
            CHECK(contains(text, name + std::to_string(i)));
    for (const std::string& word : {evidence.end.program, evidence.versions[0].second,
                                    evidence.versions[1].second, std::string(100, 'y'), call.inside})
        CHECK(contains(text, word));
    CHECK_FALSE(contains(text, "..."));
    std::size_t last = 0;
    for (const char* name :
         {"aoti-dbg: ", "\n\n  process ", "\n  call ", "\n  arguments ", "\n  written by ",
          "\n\n  reproduce ", "\n  try ", "\n  notes ", "\n\n  before ", "\n  versions ", "\n  class "}) {
        CAPTURE(name);
        const std::size_t at = text.find(name);
        REQUIRE(at != std::string::npos);
        CHECK(at >= last);
        last = at;
    }
}

TEST_CASE("The verdict's line is complete JSON within its size limit, whatever its contents") {
    for (const std::string& unit : kUnits) {
        for (const std::size_t length : {1, 300, 500, 680, 2000, 2048, 100000}) {
            CAPTURE(unit, length);
            Evidence evidence = filled(unit, length);
            Verdict verdict = judge(evidence);
            verdict.headline = evidence.in_flight.front().name;
            std::string path;
            while (path.size() < length)
                path += unit;
            const std::string line = verdict_line({evidence, verdict}, path);
            REQUIRE(line.size() <= kVerdictBytes);
            REQUIRE(line.back() == '\n');
            CHECK(line.find('\n') == line.size() - 1);
            // The parser also refuses invalid UTF-8.
            const auto json = nlohmann::json::parse(line);
            CHECK(json.at("class") == "kernel");
            CHECK(json.at("pid") == 4242);
            CHECK_FALSE(json.at("verdict").get<std::string>().empty());
        }
    }
}

TEST_CASE("report.json is JSON, whatever its names") {
    for (const std::string& unit : kUnits) {
        CAPTURE(unit);
        const std::string text = kept_json(filled(unit, 300));
        const auto json = nlohmann::json::parse(text);
        CHECK(json.at("format") == kReportFormatName);
        CHECK(json.at("version") == kReportFormatVersion);
        CHECK(json.at("call").at("call") == 3);
        CHECK(json.at("device").at("error") == 700);
    }
}

TEST_CASE("The page has what the driver said, the first lines of many, and report.json has all of them") {
    Evidence evidence = crash_inside("mylib::my_op");
    for (int i = 1; i <= 10; ++i) {
        DriverLine line;
        line.text = "[cuLaunchKernel] reason " + std::to_string(i);
        line.is_warning = i == 2;
        line.is_cut = i == 3;
        line.thread = 7;
        line.unix_ns = 1'700'000'000'000'000'000U;
        evidence.driver_lines.push_back(line);
    }
    const std::string text = text_of(evidence);
    CHECK(contains(text, "\n  driver says    [cuLaunchKernel] reason 1\n"));
    CHECK(contains(text, " warning: [cuLaunchKernel] reason 2\n"));
    CHECK(contains(text, " [cuLaunchKernel] reason 3 ..\n"));
    CHECK(contains(text, " [cuLaunchKernel] reason 8\n                 and 2 more\n"));
    const nlohmann::json json = nlohmann::json::parse(kept_json(evidence));
    REQUIRE(json.at("driver_log").size() == 10);
    CHECK(json.at("driver_log").at(1).at("level") == "warning");
    CHECK(json.at("driver_log").at(2).at("truncated") == true);
    evidence.driver_lines.clear();
    CHECK_FALSE(contains(text_of(evidence), "driver says"));
    CHECK_FALSE(contains(kept_json(evidence), "driver_log"));
}

}  // namespace aoti_dbg::test::crash_report_page_test
