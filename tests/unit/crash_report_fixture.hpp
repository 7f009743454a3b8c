// Evidence and its parts, as a start for the tests of reports.
#pragma once

#include <csignal>
#include <string>

#include "tests/support/run_program.hpp"
#include "triage/judge/verdict.hpp"
#include "triage/render/report_json.hpp"
#include "triage/render/report_text.hpp"

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

inline Evidence ended_by(int signal) {
    Evidence evidence;
    evidence.end.pid = 4242;
    evidence.end.program = "/usr/bin/python3";
    evidence.end.signal = signal;
    evidence.command = {"python", "infer.py"};
    evidence.processes = 1;
    evidence.library = "0.1.0";
    return evidence;
}

inline Evidence crash_inside(const std::string& name) {
    Evidence evidence = ended_by(SIGSEGV);
    evidence.in_flight = {call_of(name)};
    return evidence;
}

inline std::string text_of(const Evidence& evidence) {
    return report_text({evidence, judge(evidence)});
}

/// Returns report.json, which tests/schemas validates.
inline std::string kept_json(const Evidence& evidence) {
    std::string text = report_json({evidence, judge(evidence)});
    keep_output("report.json", text);
    return text;
}

}  // namespace aoti_dbg::test
