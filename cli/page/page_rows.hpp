// The calls of a page: one row for each call of a model, over all its runs. Memory grows with the number of
// rows and not with the number of runs, and there are at most kMostRows of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/page/row_series.hpp"
#include "serializer/facts_cache.hpp"
#include "serializer/measured_event.hpp"

namespace aoti_dbg::cli {

inline constexpr std::uint32_t kNoIndex32 = ~std::uint32_t{0};
inline constexpr std::size_t kMostRows = 100'000;
inline constexpr std::size_t kMostSites = kMostRows;
/// Longer names are cut.
inline constexpr std::size_t kLongestName = 500;

enum RowFlags : std::uint8_t {
    kHasNan = 1,
    kHasInf = 2,
    kHasFinding = 4,
    kFailed = 8,
    kDidNotEnd = 16,
    kNothingMeasured = 32,
};

std::string cut_name(const std::string& name);
/// Returns the first names: a fused kernel can have hundreds of nodes.
std::vector<std::string> cut_list(const std::vector<std::string>& names);

struct PageModel {
    std::string name;
    std::uint32_t process = 0;
    std::uint32_t number = ~0U;
    std::string path;
};

struct PageKernel {
    std::string name;
    std::string kind;
    std::uint64_t count = 0;
    double time_ns = 0;
    bool is_device_time = false;
    double bytes = 0;
    std::uint64_t findings = 0;
};

struct SiteArgument {
    std::string label;
    std::string fqn;
    std::string parameter;
    Role role = Role::unknown;
    std::uint32_t position = 0;
};

/// A call site of one model in one process.
struct PageSite {
    std::uint32_t kernel = 0;
    std::uint32_t model = kNoIndex32;
    std::uint32_t line = 0;
    std::string source;  // the file that the line is in; empty: the wrapper source of the package
    std::vector<std::string> source_nodes;
    std::vector<std::string> aten;
    std::vector<std::string> python;
    std::vector<std::string> nodes;  // of the graph that Inductor compiled
    std::vector<SiteArgument> arguments;
};

/// Statistics of one tensor on one side of a call.
struct RowTensor {
    std::uint16_t argument = 0;  // of the site
    bool is_measured = false;
    bool has_moments = false;
    bool has_hash = false;
    bool is_earlier = false;  // measured by call measured_at, or with the run's inputs
    std::uint32_t layout = kNoIndex32;
    std::uint32_t measured_at = kNoCallNumber;  // kNoCallNumber: the inputs
    double mean = 0, deviation = 0, minimum = 0, maximum = 0;
    std::uint64_t zeros = 0, nan = 0, infinite = 0;
    std::uint64_t hash = 0;
};

void take_statistics(const TensorStatistics& statistics, RowTensor& tensor);
/// Returns the indices of the tensors that have statistics over runs: a few, what the call writes first.
std::vector<std::size_t> series_tensors(const PageSite& site, const std::vector<RowTensor>& tensors);

/// The memory of an argument in the row's last run.
struct ArgumentPlace {
    std::uint16_t argument = 0;
    bool is_written = false;
    bool is_read = false;
    std::uint32_t layout = kNoIndex32;
    std::uint64_t begin = 0;  // 0: unknown
};

struct PageRow {
    std::uint32_t site = 0;
    std::uint32_t process = 0;
    std::uint32_t call = kNoCallNumber;
    EventSide side = EventSide::before;  // inputs and outputs are rows of their own
    std::uint8_t flags = kNothingMeasured;
    std::uint8_t lock = 0;    // how important the run is that the row shows
    std::uint32_t run = ~0U;  // that the row shows
    std::uint32_t last_run = ~0U;
    std::uint64_t runs = 0;
    std::uint64_t last_sequence = 0;
    std::uint64_t shown_sequence = ~std::uint64_t{0};
    std::uint64_t begin_ns = 0;  // of the call with last_sequence
    std::uint64_t bytes = 0;     // that one call reads and writes
    Samples host;
    Samples device;
    std::vector<RowTensor> before;
    std::vector<RowTensor> after;
    std::vector<ArgumentPlace> places;
    std::vector<std::pair<std::uint16_t, std::string>> texts;  // scalars by argument
    std::vector<std::pair<std::uint16_t, std::vector<std::byte>>> values;
    std::unique_ptr<RowSeries> series;  // from the second run on
};

struct PageLayout {
    TensorFacts facts;
    std::uint32_t dtype = 0;
    std::uint64_t bytes = 0;   // of its elements
    std::uint64_t extent = 0;  // from the first to the last of them in memory
};

/// A call as the ring knows it.
struct RecordedCallTime {
    std::uint32_t run = ~0U;
    std::uint32_t call = kNoCallNumber;
    std::uint64_t sequence = 0;
    double host_ns = 0;
};

class PageRows {
  public:
    /// Starts another process. Models have numbers of their process.
    void begin_process(std::uint32_t process);
    /// Returns the index of the model with that number in the process.
    std::uint32_t model_index(std::uint32_t number);
    void add(const MeasuredCall& call);
    /// Keeps the device times of spans by the sequence numbers of calls, at a cost in memory.
    void keep_sequences() { keeps_sequences_ = true; }

    /// Returns kNoIndex32 if the rows do not have the call.
    [[nodiscard]] std::uint32_t find(std::uint32_t model, std::uint32_t call, std::string_view kernel) const;
    /// Adds a call that only the ring has. `host_ns` is 0 if the call has not returned.
    std::uint32_t add_recorded(std::uint32_t model, const RecordedCallTime& call, const SiteFacts& site);
    /// Adds up the sequences of the current process, after all of its calls and spans.
    void finish_sequences();
    /// Adds up bytes, after all calls.
    void finish();
    /// Lets the row show this run, if it is the last one so far and no earlier one matters more.
    void keep_run(std::uint32_t row, std::uint32_t run);
    /// Marks what a finding is about.
    void add_finding(std::uint32_t row, std::uint32_t run);

    std::vector<PageModel> models;
    std::vector<PageKernel> kernels;
    std::vector<PageSite> sites;
    std::vector<PageLayout> layouts;
    std::vector<std::string> dtypes;
    std::vector<PageRow> rows;
    // What the limits leave out.
    std::uint64_t points_beyond = 0;
    std::uint64_t values_beyond = 0;
    std::uint64_t layouts_beyond = 0;
    std::uint64_t calls_beyond = 0;  // of rows beyond the limit
    struct Sequence {
        std::uint64_t sequence = 0;
        std::uint32_t row = 0;
        double device_ns = 0;
    };
    std::vector<Sequence> sequences;  // of the current process
    std::uint64_t sequences_beyond = 0;

  private:
    struct KnownSite {
        std::uint32_t model = 0;
        std::uint32_t site = 0;
    };
    struct KnownArgument {
        std::uint32_t site = 0;
        std::uint32_t argument = 0;
    };
    std::uint32_t site_index(const SiteFacts& facts, std::uint32_t model);
    std::uint32_t kernel_index(const SiteFacts& facts);
    std::uint32_t argument_index(const ArgumentFacts& facts, std::uint32_t site);
    std::uint32_t layout_index(const TensorFacts& facts);
    std::uint32_t row_index(std::uint32_t site, std::uint32_t model, std::uint32_t call, EventSide side);
    void keep_sequence(std::uint64_t sequence, std::uint32_t row);
    std::uint32_t end_site(std::uint32_t model, EventSide side);
    std::uint32_t new_kernel(std::string_view name, std::string_view kind);
    std::uint32_t dtype_index(const std::string& dtype);
    void count(PageRow& row, std::uint32_t index, const MeasuredCall& call);
    bool is_shown(PageRow& row, const MeasuredCall& call);
    void take_arguments(PageRow& row, const MeasuredCall& call);
    void take_place(PageRow& row, std::size_t hint, const ArgumentPlace& place);
    void keep_values(PageRow& row, std::uint16_t argument, std::span<const std::byte> values);
    void take_series(PageRow& row, std::uint32_t run, const std::vector<RowTensor>& tensors);

    std::uint32_t process_ = 0;
    bool keeps_sequences_ = false;
    std::size_t value_bytes_ = 0;
    std::size_t points_ = 0;
    std::unordered_map<std::uint32_t, std::uint32_t> model_by_number_;
    FactsCache<KnownSite> known_sites_;
    FactsCache<KnownArgument> known_arguments_;
    FactsCache<std::uint32_t> known_layouts_;
    std::unordered_map<std::uint64_t, std::uint32_t> end_sites_;  // of inputs and outputs, by model
    std::unordered_map<std::uint64_t, std::uint32_t> site_by_key_;
    std::unordered_map<std::uint64_t, std::uint32_t> kernel_by_key_;
    std::unordered_map<std::uint64_t, std::uint32_t> layout_by_key_;
    std::unordered_map<std::string, std::uint32_t> dtype_by_text_;
    std::unordered_map<std::uint64_t, std::uint32_t> row_by_place_;  // by site, call and side
    std::unordered_map<std::uint64_t, std::uint32_t> row_by_call_;   // by model and call
    std::vector<RowTensor> scratch_;
    std::vector<SeriesPoint> series_scratch_;
};

}  // namespace aoti_dbg::cli
