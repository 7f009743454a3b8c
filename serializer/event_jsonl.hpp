// Events as JSON Lines: events.jsonl, drawn and versioned in docs/reference/events.md. A line is whole in
// itself, with the names of kernel and argument, dtype and sizes in it; what never changes of them besides is
// written once and referred to by its id. Computes nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "serializer/facts_cache.hpp"
#include "serializer/measured_event.hpp"

namespace aoti_dbg {

inline constexpr std::string_view kEventFormatName = "aoti-dbg-events";
inline constexpr std::uint32_t kEventFormatVersion = 1;

/// The first line of a file: whose events these are.
struct HeaderFacts {
    std::uint32_t version = kEventFormatVersion;  // of the format; the renderer writes its own
    std::uint64_t pid = 0;
    std::string command;  // with its arguments, parted by blanks
    std::string host;
    std::string rank;            // as RANK has it; empty without one
    std::uint64_t start_ns = 0;  // since the epoch
    std::string library;         // our version
};

/// A model that has arrived; `number` is MeasuredCall::model.
struct ModelFacts {
    std::uint32_t number = 0;
    std::string path;
    std::string name;
};

struct NamedCount {
    std::string_view name;  // of letters and _: calls_seen
    std::uint64_t number = 0;
};

/// Not for several threads at once. Appends whole lines. All that it renders belongs into one file, in its
/// order, since later lines refer to earlier ones.
class JsonlRenderer {
  public:
    static void render_header(const HeaderFacts& header, std::string& out);
    static void render_model(const ModelFacts& model, std::string& out);
    static void render_coverage(std::span<const NamedCount> counts, std::string& out);
    void render(const MeasuredCall& call, std::string& out);

  private:
    struct Fragments {
        const std::string* label = nullptr;   // `{"label":"buf0","argument":7`
        const std::string* tensor = nullptr;  // `,"tensor":9,"dtype":"float32","sizes":[2]`
    };
    void make_room(std::string& out);
    /// What goes into the lines of calls; writes definitions that the file does not have yet to `out`.
    const std::string& fragment_of(const SiteFacts& facts, std::string& out);
    const std::string& fragment_of(const ArgumentFacts& facts, std::string& out);
    const std::string& fragment_of(const TensorFacts& facts, std::string& out);

    FactsCache<std::string> sites_;
    FactsCache<std::string> arguments_;
    FactsCache<std::string> tensors_;
    std::vector<Fragments> fragments_;  // of the arguments of one call; kept for its memory
};

/// As a JSON object, of the members that an argument of a call has, and `count`.
void append_statistics_object(const TensorStatistics& statistics, std::string& out);

/// `text` as a JSON string, quotes included. What is not UTF-8 becomes U+FFFD.
void append_json_string(std::string_view text, std::string& out);

}  // namespace aoti_dbg
