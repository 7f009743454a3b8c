// Writes the packets of a Perfetto trace: tracks, slices, instants and counters of native track events. Field
// numbers are those of perfetto/trace/perfetto_trace.proto. Names are written once and then referenced by
// number (interned). It must know nothing of recordings.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace aoti_dbg::cli {

namespace proto {
class Fields;
}

/// A number for the text of an event or annotation, valid until the names are forgotten.
using TextId = std::uint64_t;

/// Texts and their numbers. Perfetto counts them separately for names of events, categories, names of
/// annotations and their values.
class InternedTexts {
  public:
    /// `field` is that of the kind in InternedData.
    explicit InternedTexts(std::uint32_t field) : field_(field) {}
    /// Returns the number of a text. Appends its definition to `definitions` the first time.
    TextId id_of(std::string_view text, std::string& definitions);
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    void forget();

  private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    };
    std::uint32_t field_;
    std::unordered_map<std::string, TextId, Hash, std::equal_to<>> ids_;
    std::size_t bytes_ = 0;
};

/// Appends packets to `out`. Text may have any bytes; what is not UTF-8 or is a control character is
/// replaced.
class TracePackets {
  public:
    explicit TracePackets(std::string& out) : out_(out) {}

    /// Starts the trace. `time_ns` is a Unix time. Later times are Unix times, too.
    void start(std::uint64_t time_ns);

    struct Process {
        std::uint32_t pid = 0;
        std::string_view name;
        std::string_view command;
    };
    void add_process(std::uint64_t track, const Process& process);
    void add_thread(std::uint64_t track, std::uint64_t parent, std::uint32_t pid, std::uint32_t tid,
                    std::string_view name);
    void add_track(std::uint64_t track, std::uint64_t parent, std::string_view name);
    /// The numbers 1 and 3 of `unit` are UNIT_COUNT + 1 and UNIT_SIZE_BYTES of CounterDescriptor.
    enum class Unit : std::uint8_t { count = 2, bytes = 3 };
    void add_counter(std::uint64_t track, std::uint64_t parent, std::string_view name, Unit unit);

    enum class Type : std::uint8_t { begin = 1, end = 2, instant = 3, counter = 4 };
    /// Starts an event. The functions below add to it until end_event().
    void begin_event(Type type, std::uint64_t track, std::uint64_t time_ns);
    void name(std::string_view text) { name(name_id(text)); }
    void category(std::string_view text);
    /// Connects events with the same number, in the order of their times.
    void flow(std::uint64_t number);
    void counter(std::uint64_t value);
    void annotate(std::string_view key, std::string_view text);
    void annotate(std::string_view key, std::uint64_t number);
    /// Annotates with a text that other events repeat.
    void annotate_shared(std::string_view key, std::string_view text);
    /// Starts an annotation that has annotations. end_group() ends it.
    void begin_group(std::string_view key);
    void end_group();
    void end_event();

    /// The same with numbers. They are valid while `generation()` stays the same, and within one event.
    [[nodiscard]] TextId name_id(std::string_view text) { return names_.id_of(text, definitions_); }
    [[nodiscard]] TextId key_id(std::string_view text) { return keys_.id_of(text, definitions_); }
    void name(TextId id);
    /// Starts a text annotation. Append its UTF-8 to the string that this returns, then call end_text().
    std::string& begin_text(TextId key);
    void end_text();
    [[nodiscard]] std::uint32_t generation() const { return generation_; }

    /// Copy what was added to the event since a `size()`, to add it to other events of the same generation.
    [[nodiscard]] std::size_t size() const { return out_.size(); }
    [[nodiscard]] std::string copy_from(std::size_t size) const { return out_.substr(size); }
    void append(const std::string& bytes) { out_ += bytes; }

  private:
    std::size_t begin_packet(std::uint64_t time_ns);
    template <typename Details>
    void describe_track(std::uint64_t track, std::uint64_t parent, std::string_view name, Details details);
    std::size_t start_annotation(proto::Fields& fields, TextId key) const;
    void annotate_number(TextId key, std::uint32_t field, std::uint64_t number);
    void make_room();

    std::string& out_;
    std::string definitions_;  // InternedData of the current packet
    InternedTexts categories_{1};
    InternedTexts names_{2};
    InternedTexts keys_{3};
    InternedTexts values_{29};
    std::uint32_t generation_ = 0;
    bool is_cleared_ = true;  // the next event starts without interned texts
    // Places of the open messages in `out_`.
    std::size_t packet_ = 0;
    std::size_t event_ = 0;
    std::size_t annotation_ = 0;
    std::size_t group_ = 0;
    std::size_t text_ = 0;
};

}  // namespace aoti_dbg::cli
