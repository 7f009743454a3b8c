// A call in a report of what went wrong. Plain: what it is about may be gone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "serializer/flight_ring_reader.hpp"

namespace aoti_dbg {

/// A call as the flight ring has it, and what the model's package says of it.
struct CrashCall {
    std::string name;
    ring::CallKind kind = ring::CallKind::unknown;
    std::uint64_t sequence = 0;  // number of the call in its process
    std::uint32_t run = ring::kNoRun;
    std::uint32_t call = ring::kNoCall;
    std::uint32_t model = ~0U;
    std::string model_name;
    std::string package;  // of the model, by which it was kept: its name and hash; empty: not known
    std::string path;     // of its library
    std::uint64_t thread = 0;
    std::uint64_t stream = 0;
    std::uint8_t context = 0;  // as its record has it
    std::string device;        // "cuda:1"; empty: not known, or the process used but one
    std::int32_t result = 0;
    bool unwound_by_exception = false;
    bool is_likely = false;  // it may have been another one of that name
    std::uint32_t line = 0;  // of the wrapper source; 0: not known
    std::vector<std::string> source_nodes;
    std::vector<std::string> original_aten;
    std::string inside;  // the op that it is a part of, as call_text(); empty: none
};

/// What the ring says of it.
CrashCall recorded_call(const ring::Contents& contents, const ring::Call& call);

/// "triton", "op": as reports have it.
std::string_view word_of(ring::CallKind kind);
/// The kind of that word; unknown for any other.
ring::CallKind kind_of(std::string_view word);

/// " (run 0, call 3)"; empty where neither is known.
std::string place_text(const CrashCall& call);

/// "X failed", "an exception unwound X": clean.
std::string failure_text(const CrashCall& call);

/// Whether a launch on record may be one of that kernel: models tell several of one name apart by a number.
bool is_name_of(std::string_view launch, std::string_view kernel);

/// "mylib::my_op (run 0, call 3)", clean; "run 2 of model 0", since models are named by hashes.
std::string call_text(const CrashCall& call);

}  // namespace aoti_dbg
