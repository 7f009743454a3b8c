// A call as reports describe it. It owns its text, because the ring or model behind it may be gone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "serializer/flight_ring_reader.hpp"

namespace aoti_dbg {

/// A call as the flight ring recorded it, with the details from the model's package.
struct CrashCall {
    std::string name;
    ring::CallKind kind = ring::CallKind::unknown;
    std::uint64_t sequence = 0;  // call number in its process
    std::uint32_t run = ring::kNoRun;
    std::uint32_t call = ring::kNoCall;
    std::uint32_t model = ~0U;
    std::string model_name;
    std::string package;  // of the model: the name and hash under which it was kept; empty: unknown
    std::string path;     // of its library
    std::uint64_t thread = 0;
    std::uint64_t stream = 0;
    std::uint8_t context = 0;  // as in its ring::Record
    std::string device;        // "cuda:1"; empty: unknown, or the process used only one device
    std::int32_t result = 0;
    bool unwound_by_exception = false;
    bool is_likely = false;  // a different call of the same name is possible
    std::uint32_t line = 0;  // of the wrapper source; 0: unknown
    std::string source;      // the path of that source; empty: unknown, or it is in the package
    std::vector<std::string> source_nodes;
    std::vector<std::string> original_aten;
    std::vector<std::string> python_stack;  // the user's, line by line
    // Where the kernel comes from, as the package or the compilation's logs say (model/provenance.hpp).
    std::vector<std::string> python_lines;  // "net.py:12 in forward: x = self.l1(x)"
    std::vector<std::string> pre_grad_nodes;
    std::vector<std::string> post_grad_nodes;
    std::string origin;  // which of them says so: "package", "trace"; empty: neither
    std::string inside;  // the op that contains it, as call_text() prints it; empty: none
};

/// Returns the fields that the ring knows.
CrashCall recorded_call(const ring::Contents& contents, const ring::Call& call);

/// Returns the word that reports use: "triton", "op".
std::string_view word_of(ring::CallKind kind);
/// The inverse of word_of(); returns unknown for any other word.
ring::CallKind kind_of(std::string_view word);

/// Returns " (run 0, call 3)", or an empty text if neither is known.
std::string place_text(const CrashCall& call);

/// Returns "line 12 of the wrapper source", or "a.wrapper.cpp:12" if only the line table knows it.
std::string line_text(std::uint32_t line, std::string_view source);

/// Returns "X failed" or "an exception unwound X", in clean text.
std::string failure_text(const CrashCall& call);

/// True if a recorded launch may be of `kernel`. Models append a number to distinguish kernels with the same
/// name.
bool is_name_of(std::string_view launch, std::string_view kernel);

/// Returns "mylib::my_op (run 0, call 3)" in clean text. Runs read "run 2 of model 0", because model names
/// are hashes.
std::string call_text(const CrashCall& call);

/// Notes that `around` contains the launch. In a Python wrapper, a kernel's call and its launch have one
/// name, and the launch takes the place of the call.
void set_around(const CrashCall& around, CrashCall& launch);

}  // namespace aoti_dbg
