// See page_rows.hpp.
#include "cli/page/page_rows.hpp"

#include <algorithm>

#include "serializer/event_words.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::size_t kMostSequences = std::size_t{2} << 20U;
constexpr std::size_t kMostValueBytes = std::size_t{16} << 20U;
constexpr std::size_t kMostPoints = 500'000;
constexpr std::size_t kFewRows = 5000;
constexpr std::size_t kSeriesOfFew = 48;
constexpr std::size_t kSeriesOfMany = 12;

/// Inputs of a run are what it begins with, so they count as written.
bool is_after(EventSide side) {
    return side == EventSide::after || side == EventSide::inputs;
}

std::uint64_t place_key(std::uint32_t site, std::uint32_t call, EventSide side) {
    const std::uint64_t end = side == EventSide::inputs ? 1 : side == EventSide::outputs ? 2 : 0;
    return std::uint64_t{site} << 34U | std::uint64_t{call} << 2U | end;
}

std::uint64_t call_key(std::uint32_t model, std::uint32_t call) {
    return std::uint64_t{model} << 32U | call;
}

RowTensor row_tensor(const MeasuredArgument& argument) {
    RowTensor tensor;
    if (argument.measured != Measured::now && argument.measured != Measured::earlier) return tensor;
    tensor.is_earlier = argument.measured == Measured::earlier;
    tensor.measured_at = argument.measured_at;
    take_statistics(argument.statistics, tensor);
    return tensor;
}

/// Replaces the entry of an argument, or adds one. The entries are few and usually in order.
template <typename Value>
Value& entry_of(std::vector<std::pair<std::uint16_t, Value>>& entries, std::uint16_t argument) {
    for (auto& [own, value] : entries)
        if (own == argument) return value;
    return entries.emplace_back(argument, Value{}).second;
}

}  // namespace

void take_statistics(const TensorStatistics& statistics, RowTensor& tensor) {
    const RealStatistics& real = statistics.real;
    const RealStatistics& imaginary = statistics.imaginary;
    tensor.is_measured = true;
    tensor.nan = real.nan + imaginary.nan;
    tensor.infinite = real.positive_infinity + real.negative_infinity + imaginary.positive_infinity +
                      imaginary.negative_infinity;
    tensor.zeros = real.zeros;
    tensor.has_hash = wants(statistics.requested, Requested::hash);
    tensor.hash = statistics.hash;
    tensor.has_moments =
        wants(statistics.requested, Requested::printed | Requested::indices) && real.all.count != 0;
    if (!tensor.has_moments) return;
    tensor.mean = real.all.mean;
    tensor.deviation = real.all.standard_deviation;
    tensor.minimum = real.all.minimum.as_double();
    tensor.maximum = real.all.maximum.as_double();
}

std::vector<std::size_t> series_tensors(const PageSite& site, const std::vector<RowTensor>& tensors) {
    std::vector<std::size_t> chosen;
    for (const bool is_written : {true, false})
        for (std::size_t i = 0; i < tensors.size() && chosen.size() < RowSeries::kMostTensors; ++i) {
            const Role role = site.arguments[tensors[i].argument].role;
            if ((role == Role::writes || role == Role::makes || role == Role::updates) == is_written)
                chosen.push_back(i);
        }
    return chosen;
}

std::uint32_t PageRows::row_index(std::uint32_t site, std::uint32_t model, std::uint32_t call,
                                  EventSide side) {
    const std::uint64_t key = place_key(site, call, side);
    if (const auto found = row_by_place_.find(key); found != row_by_place_.end()) return found->second;
    if (rows.size() == kMostRows) return kNoIndex32;
    const auto index = static_cast<std::uint32_t>(rows.size());
    PageRow& row = rows.emplace_back();
    row.site = site;
    row.process = process_;
    row.call = call;
    row.side = side == EventSide::after ? EventSide::before : side;
    row_by_place_[key] = index;
    if (model != kNoIndex32 && side != EventSide::outputs &&
        (call != kNoCallNumber || side == EventSide::inputs))
        row_by_call_[call_key(model, call)] = index;
    return index;
}

std::uint32_t PageRows::add_recorded(std::uint32_t model, const RecordedCallTime& call,
                                     const SiteFacts& facts) {
    const std::uint32_t site = site_index(facts, model);
    const std::uint32_t index =
        site == kNoIndex32 ? site : row_index(site, model, call.call, EventSide::before);
    if (index == kNoIndex32) {
        ++calls_beyond;
        return index;
    }
    PageRow& row = rows[index];
    PageKernel& kernel = kernels[sites[site].kernel];
    ++row.runs;
    ++kernel.count;
    row.last_sequence = call.sequence;
    row.run = row.last_run = call.run;
    if (call.host_ns > 0) {
        row.host.add(call.host_ns);
        kernel.time_ns += call.host_ns;
    }
    keep_sequence(call.sequence, index);
    return index;
}

void PageRows::keep_sequence(std::uint64_t sequence, std::uint32_t row) {
    if (!keeps_sequences_ || sequence == 0) return;
    if (sequences.size() < kMostSequences)
        sequences.push_back({sequence, row, 0});
    else
        ++sequences_beyond;
}

void PageRows::finish_sequences() {
    for (const Sequence& one : sequences) {
        if (one.device_ns <= 0) continue;
        rows[one.row].device.add(one.device_ns);
        PageKernel& kernel = kernels[sites[rows[one.row].site].kernel];
        if (!kernel.is_device_time) kernel.time_ns = 0;
        kernel.is_device_time = true;
        kernel.time_ns += one.device_ns;
    }
    sequences.clear();
    sequences.shrink_to_fit();
}

void PageRows::finish() {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 53U;
    for (PageRow& row : rows) {
        for (const ArgumentPlace& place : row.places) {
            const std::uint64_t bytes =
                place.layout == kNoIndex32 ? 0 : std::min(layouts[place.layout].bytes, kMost);
            row.bytes += bytes * ((place.is_read ? 1 : 0) + (place.is_written ? 1 : 0));
        }
        row.bytes = std::min(row.bytes, kMost);
        kernels[sites[row.site].kernel].bytes +=
            static_cast<double>(row.bytes) * static_cast<double>(row.runs);
    }
}

std::uint32_t PageRows::find(std::uint32_t model, std::uint32_t call, std::string_view kernel) const {
    const auto has_name = [&](std::uint32_t row) {
        return kernels[sites[rows[row].site].kernel].name == kernel;
    };
    const auto found = row_by_call_.find(call_key(model, call));
    if (found == row_by_call_.end()) return kNoIndex32;
    if (has_name(found->second)) return found->second;
    for (std::uint32_t row = 0; row < rows.size(); ++row)
        if (rows[row].call == call && sites[rows[row].site].model == model && has_name(row)) return row;
    return kNoIndex32;
}

void PageRows::keep_run(std::uint32_t index, std::uint32_t run) {
    PageRow& row = rows[index];
    if (row.run == run && row.lock < 2) row.lock = 2;
}

void PageRows::add_finding(std::uint32_t index, std::uint32_t run) {
    PageRow& row = rows[index];
    row.flags |= kHasFinding;
    keep_run(index, run);
    ++kernels[sites[row.site].kernel].findings;
}

void PageRows::add(const MeasuredCall& call) {
    const bool is_end = call.side == EventSide::inputs || call.side == EventSide::outputs;
    const std::uint32_t model = model_index(call.model);
    const std::uint32_t site = is_end ? end_site(model, call.side) : site_index(site_or_unknown(call), model);
    const std::uint32_t index =
        site == kNoIndex32 ? site : row_index(site, model, is_end ? kNoCallNumber : call.call, call.side);
    if (index == kNoIndex32) {
        if (call.side == EventSide::before) ++calls_beyond;
        return;
    }
    PageRow& row = rows[index];
    count(row, index, call);
    take_arguments(row, call);
}

/// Counts a call once, whichever of its sides are recorded.
void PageRows::count(PageRow& row, std::uint32_t index, const MeasuredCall& call) {
    PageKernel& kernel = kernels[sites[row.site].kernel];
    if (row.runs == 0 || call.sequence > row.last_sequence) {
        ++row.runs;
        ++kernel.count;
        row.last_sequence = call.sequence;
        row.last_run = call.run;
        row.begin_ns = call.side == EventSide::before ? call.time_ns : 0;
        keep_sequence(call.sequence, index);
    } else if (call.side == EventSide::after && call.sequence == row.last_sequence && row.begin_ns != 0 &&
               call.time_ns >= row.begin_ns) {
        const auto passed = static_cast<double>(call.time_ns - row.begin_ns);
        row.host.add(passed);
        kernel.time_ns += passed;
        row.begin_ns = 0;
    }
    if (call.result != 0) row.flags |= kFailed;
}

/// Whether the row shows this run: the first with a finding or NaN, else the last.
bool PageRows::is_shown(PageRow& row, const MeasuredCall& call) {
    if (call.sequence == row.shown_sequence) return true;
    const bool is_first = row.shown_sequence == ~std::uint64_t{0};
    if (!is_first && call.sequence < row.shown_sequence) return false;
    if (!is_first && row.series == nullptr && points_ <= kMostPoints) {
        // What the row shows of its first run begins the series.
        row.series = std::make_unique<RowSeries>();
        take_series(row, row.run, row.side == EventSide::outputs ? row.before : row.after);
    }
    if (row.lock != 0) return false;
    row.shown_sequence = call.sequence;
    row.run = call.run;
    row.before.clear();
    row.after.clear();
    return true;
}

void PageRows::take_place(PageRow& row, std::size_t hint, const ArgumentPlace& place) {
    std::vector<ArgumentPlace>& places = row.places;
    if (hint < places.size() && places[hint].argument == place.argument) {
        places[hint] = place;
        return;
    }
    const auto found = std::ranges::find(places, place.argument, &ArgumentPlace::argument);
    if (found == places.end())
        places.push_back(place);
    else
        *found = place;
}

void PageRows::keep_values(PageRow& row, std::uint16_t argument, std::span<const std::byte> values) {
    if (value_bytes_ > kMostValueBytes) {
        ++values_beyond;
        return;
    }
    std::vector<std::byte>& kept = entry_of(row.values, argument);
    value_bytes_ += values.size() - std::min(values.size(), kept.size());
    kept.assign(values.begin(), values.end());
}

void PageRows::take_arguments(PageRow& row, const MeasuredCall& call) {
    const bool is_end = is_after(call.side);
    const bool shows = is_shown(row, call);
    bool has_nan = false;
    scratch_.clear();
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
        const MeasuredArgument& argument = call.arguments[i];
        const ArgumentFacts& facts = facts_or_unknown(argument);
        const std::uint32_t number = argument_index(facts, row.site);
        if (number > 0xffff) continue;
        const auto own = static_cast<std::uint16_t>(number);
        if (argument.tensor == nullptr) {
            if (shows) entry_of(row.texts, own) = argument.scalar.substr(0, kLongestName);
            continue;
        }
        RowTensor& tensor = scratch_.emplace_back(row_tensor(argument));
        tensor.argument = own;
        tensor.layout = layout_index(*argument.tensor);
        // At the end of a run, its outputs were made by calls before.
        const bool is_output = call.side == EventSide::outputs;
        const bool is_written = call.side == EventSide::inputs ||
                                (!is_output && (facts.role == Role::writes || facts.role == Role::makes ||
                                                facts.role == Role::updates));
        const bool is_read = is_output || (call.side != EventSide::inputs && facts.role != Role::writes &&
                                           facts.role != Role::makes);
        take_place(row, i, {own, is_written, is_read, tensor.layout, argument.address});
        if (!tensor.is_measured) continue;
        row.flags &= static_cast<std::uint8_t>(~kNothingMeasured);
        if (is_unwritten(call, argument)) {
            tensor.is_measured = false;  // whatever was left in the memory
            continue;
        }
        if (tensor.nan != 0) row.flags |= kHasNan;
        if (tensor.infinite != 0) row.flags |= kHasInf;
        has_nan |= tensor.nan != 0 && call.side != EventSide::before;
        if (shows && !argument.values.empty()) keep_values(row, own, argument.values);
    }
    if (is_end || call.side == EventSide::outputs) take_series(row, call.run, scratch_);
    if (!shows) return;
    (is_end ? row.after : row.before).assign(scratch_.begin(), scratch_.end());
    if (row.lock == 0 && (has_nan || call.result != 0)) row.lock = 1;
}

void PageRows::take_series(PageRow& row, std::uint32_t run, const std::vector<RowTensor>& tensors) {
    const bool is_measured = std::ranges::any_of(tensors, &RowTensor::is_measured);
    if (is_measured && points_ > kMostPoints && row.runs > 1) ++points_beyond;
    if (row.series == nullptr || !is_measured || points_ > kMostPoints) return;
    const std::size_t before = row.series->points().size();
    if (row.series->wants(rows.size() <= kFewRows ? kSeriesOfFew : kSeriesOfMany)) {
        series_scratch_.clear();
        for (const std::size_t i : series_tensors(sites[row.site], tensors)) {
            const RowTensor& tensor = tensors[i];
            series_scratch_.push_back({tensor.mean, tensor.deviation, tensor.minimum, tensor.maximum,
                                       tensor.nan, tensor.has_moments});
        }
        row.series->add(run, series_scratch_);
    }
    points_ += row.series->points().size();
    points_ -= before;
}

}  // namespace aoti_dbg::cli
