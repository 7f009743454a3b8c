// A report and its parts, as a start for the tests of reports.
#pragma once

#include <csignal>
#include <string>

#include "tests/support/run_program.hpp"
#include "triage/judge/crash_report.hpp"

namespace aoti_dbg::test {

inline CrashCall call_of(const std::string& name, std::uint32_t run = 0, std::uint32_t number = 3) {
    CrashCall call;
    call.name = name;
    call.kind = ring::CallKind::extern_op;
    call.sequence = 12;
    call.run = run;
    call.call = number;
    call.model = 0;
    call.thread = 4250;
    return call;
}

inline CrashReport ended_by(int signal) {
    CrashReport report;
    report.end.pid = 4242;
    report.end.program = "/usr/bin/python3";
    report.end.signal = signal;
    report.command = {"python", "infer.py"};
    report.processes = 1;
    report.library = "0.1.0";
    return report;
}

inline CrashReport crash_inside(const std::string& name) {
    CrashReport report = ended_by(SIGSEGV);
    report.in_flight = {call_of(name)};
    return report;
}

inline CrashReport concluded(CrashReport report) {
    conclude(report);
    return report;
}

/// Appends the report as report.json, which tests/schemas validates.
inline void append_kept_json(const CrashReport& report, std::string& out) {
    std::string text;
    append_report_json(report, text);
    keep_output("report.json", text);
    out += text;
}

inline std::string text_of(const CrashReport& report) {
    std::string text;
    append_report_text(report, text);
    return text;
}

}  // namespace aoti_dbg::test
