// Renders events as JSON Lines: events.jsonl, described and versioned in docs/reference/events.md. Each line
// names its kernel, argument, dtype and sizes. Other constant data is written once and referenced by id. It
// must compute nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/compiled_function.hpp"
#include "serializer/facts_cache.hpp"
#include "serializer/measured_event.hpp"
#include "serializer/statistics_text.hpp"

namespace aoti_dbg {

inline constexpr std::string_view kEventFormatName = "aoti-dbg-events";
inline constexpr std::uint32_t kEventFormatVersion = 1;

/// The first line of a file, which names the process that wrote it.
struct HeaderFacts {
    std::uint32_t version = kEventFormatVersion;  // of the format; the renderer always writes its own
    std::uint64_t pid = 0;
    std::string command;  // with its arguments, separated by spaces
    std::string host;
    std::string rank;            // the value of RANK; empty if unset
    std::uint64_t start_ns = 0;  // since the epoch
    std::string library;         // library version
};

/// A loaded model; `number` is MeasuredCall::model.
struct ModelFacts {
    std::uint32_t number = 0;
    std::string path;
    std::string name;
    std::optional<CompiledFunction> compiled = {};  // by torch.compile
};

struct NamedCount {
    std::string_view name;  // letters and _ only: calls_seen
    std::uint64_t number = 0;
};

/// Not thread-safe. It appends whole lines. Write all of its output to one file, in order, because later
/// lines refer to earlier ones.
class JsonlRenderer {
  public:
    JsonlRenderer() : JsonlRenderer(std::make_shared<StatisticsTexts>()) {}
    /// Shares the digits of numbers with another renderer.
    explicit JsonlRenderer(std::shared_ptr<StatisticsTexts> texts) : texts_(std::move(texts)) {}

    static void render_header(const HeaderFacts& header, std::string& out);
    static void render_model(const ModelFacts& model, std::string& out);
    static void render_coverage(std::span<const NamedCount> counts, std::string& out);
    void render(const MeasuredCall& call, std::string& out);

  private:
    struct ArgumentText {
        std::string label;             // `{"label":"buf0","argument":7`
        const void* tensor = nullptr;  // what `start` was rendered for
        std::uint64_t address = 0;
        std::string start;  // the label, `,"tensor":9,"dtype":"float32","sizes":[2]` and the address
    };
    struct Fragments {
        ArgumentText* argument = nullptr;
        const std::string* tensor = nullptr;  // null for a scalar
    };
    void make_room(std::string& out);
    /// Returns the part that each call line repeats. Appends definitions that the file lacks to `out`.
    const std::string& fragment_of(const SiteFacts& facts, std::string& out);
    ArgumentText& fragment_of(const ArgumentFacts& facts, std::string& out);
    const std::string& fragment_of(const TensorFacts& facts, std::string& out);
    void append_argument(const MeasuredArgument& argument, const Fragments& fragments, std::string& out);
    void append_measurement(const MeasuredArgument& argument, std::string& out);
    void append_statistics(const MeasuredArgument& argument, std::string& out);

    std::shared_ptr<StatisticsTexts> texts_;
    FactsCache<std::string> sites_;
    FactsCache<ArgumentText> arguments_;
    FactsCache<std::string> tensors_;
    std::vector<Fragments> fragments_;  // of one call's arguments; kept to reuse its memory
};

/// Appends a JSON object with the statistics members of a call's argument, and `count`.
void append_statistics_object(const TensorStatistics& statistics, std::string& out);

/// Appends `text` as a JSON string with quotes. Bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string_view text, std::string& out);

}  // namespace aoti_dbg
