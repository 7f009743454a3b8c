// See row_json.hpp.
#include "cli/page/row_json.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "cli/page/page_text.hpp"
#include "serializer/event_text.hpp"
#include "serializer/number_text.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::uint64_t kMostExact = std::uint64_t{1} << 53U;  // that a page can count

std::int64_t exact(std::uint64_t number) {
    return static_cast<std::int64_t>(std::min(number, kMostExact));
}

/// Rounds to five significant digits.
std::int64_t rounded(double number) {
    if (!(number > 0)) return 0;
    auto value = static_cast<std::uint64_t>(std::min(number, 9e15));
    std::uint64_t unit = 1;
    for (std::uint64_t rest = value; rest >= 100'000; rest /= 10)
        unit *= 10;
    value = (value + unit / 2) / unit * unit;
    return static_cast<std::int64_t>(value);
}

/// A few values repeat in many rows.
void append_dictionary(const std::vector<std::int64_t>& numbers, std::string& out) {
    std::vector<std::int64_t> values;
    std::vector<std::int64_t> places;
    std::unordered_map<std::int64_t, std::int64_t> known;
    for (const std::int64_t number : numbers) {
        const auto [entry, is_new] = known.try_emplace(number, static_cast<std::int64_t>(values.size()));
        if (is_new) values.push_back(number);
        places.push_back(entry->second);
    }
    std::string plain;
    append_column(numbers, plain);
    std::string dictionary = "{\"dict\":";
    append_column(values, dictionary);
    dictionary += ",\"index\":";
    append_column(places, dictionary);
    dictionary += '}';
    out += dictionary.size() < plain.size() ? dictionary : plain;
}

const char* side_word(bool is_after) {
    return is_after ? "after" : "before";
}

void append_counts(const std::array<std::uint64_t, 3>& counts, std::int64_t measured_at, std::string& out) {
    std::size_t needed = measured_at != -1 ? 3 : counts.size();
    while (measured_at == -1 && needed > 0 && counts[needed - 1] == 0)
        --needed;
    for (std::size_t i = 0; i < needed; ++i) {
        out += ',';
        append_integer(counts[i], out);
    }
    if (measured_at == -1) return;
    out += ',';
    append_integer(measured_at, out);
}

/// The contents of a tensor of a few bytes can be found by trying which of them have its hash.
constexpr std::uint64_t kFewBytes = 64;

void append_tensor(const RowTensor& tensor, bool is_confidential, bool is_tiny, std::string& out) {
    append_comma(out);
    out += '[';
    append_integer(std::uint64_t{tensor.argument}, out);
    out += ',';
    append_integer(number_or_none(tensor.layout), out);
    if (tensor.is_measured) {
        const bool has_numbers = tensor.has_moments && !is_confidential;
        for (const double number : {tensor.mean, tensor.deviation, tensor.minimum, tensor.maximum}) {
            out += ',';
            if (has_numbers)
                append_page_number(number, out);
            else
                out += "null";
        }
        std::int64_t at = -1;
        if (tensor.is_earlier)
            at = tensor.measured_at == kNoCallNumber ? -2 : std::int64_t{tensor.measured_at};
        if (is_confidential && tensor.has_hash && !is_tiny) {
            out += ",null,";
            append_integer(tensor.nan, out);
            out += ',';
            append_integer(tensor.infinite, out);
            out += ',';
            append_integer(at, out);
            out += ",\"";
            append_hex(tensor.hash, out);
            out += '"';
        } else {
            append_counts({is_confidential ? 0 : tensor.zeros, tensor.nan, tensor.infinite}, at, out);
        }
    }
    out += ']';
}

}  // namespace

RowJson::RowJson(const Page& page, std::vector<std::uint32_t> chosen)
    : page_(page),
      chosen_(std::move(chosen)),
      numbers_(page.rows.rows.size(), -1),
      site_numbers_(page.rows.sites.size(), kNoIndex32) {
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
        numbers_[chosen_[i]] = static_cast<std::int64_t>(i);
        const std::uint32_t site = page.rows.rows[chosen_[i]].site;
        if (site_numbers_[site] != kNoIndex32) continue;
        site_numbers_[site] = static_cast<std::uint32_t>(sites_.size());
        sites_.push_back(site);
    }
}

std::string RowJson::columns() const {
    enum Column : std::uint8_t { site, process, call, runs, run, host, device, bytes, flags, count };
    constexpr std::array<std::string_view, count> kNames = {"site",    "process",   "call",  "runs", "run",
                                                            "host_ns", "device_ns", "bytes", "flags"};
    std::array<std::vector<std::int64_t>, count> columns;
    for (const std::uint32_t index : chosen_) {
        const PageRow& row = page_.rows.rows[index];
        columns[site].push_back(site_numbers_[row.site]);
        columns[process].push_back(row.process);
        columns[call].push_back(number_or_none(row.call));
        columns[runs].push_back(exact(row.runs));
        columns[run].push_back(number_or_none(row.run));
        columns[host].push_back(rounded(row.host.median()));
        columns[device].push_back(rounded(row.device.median()));
        columns[bytes].push_back(exact(row.bytes));
        columns[flags].push_back(row.flags);
    }
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
        if (i != 0) text += ',';
        text.append("\"").append(kNames[i]).append("\":");
        if (i == bytes)
            append_dictionary(columns[i], text);
        else
            append_column(columns[i], text);
    }
    return text;
}

std::string RowJson::site_columns() const {
    std::array<std::vector<std::int64_t>, 4> columns;
    for (const std::uint32_t index : sites_) {
        const PageSite& site = page_.rows.sites[index];
        columns[0].push_back(site.kernel);
        columns[1].push_back(number_or_none(site.model));
        columns[2].push_back(site.line);
        columns[3].push_back(index < page_.source_of_site.size() ? number_or_none(page_.source_of_site[index])
                                                                 : -1);
    }
    std::string text;
    constexpr std::array<std::string_view, 4> kNames = {
        "\"kernel\":", ",\"model\":", ",\"line\":", ",\"source\":"};
    for (std::size_t i = 0; i < columns.size(); ++i) {
        text += kNames[i];
        append_column(columns[i], text);
    }
    return text;
}

std::string RowJson::more_of_site(std::uint32_t index) const {
    const PageSite& site = page_.rows.sites[index];
    std::string text = "{";
    if (!site.source_nodes.empty()) append_texts_member("source_nodes", site.source_nodes, text);
    if (!site.aten.empty()) append_texts_member("aten", site.aten, text);
    if (!site.nodes.empty()) append_texts_member("nodes", site.nodes, text);
    if (!site.python.empty() && !page_.is_confidential) append_texts_member("python", site.python, text);
    if (!site.arguments.empty()) {
        append_name("arguments", text);
        text += '[';
        for (const SiteArgument& argument : site.arguments) {
            append_comma(text);
            text += '{';
            append_text_member("label", argument.label, text);
            append_some_text("fqn", argument.fqn, text);
            append_some_text("parameter", argument.parameter, text);
            if (argument.role != Role::unknown) append_text_member("role", word_of(argument.role), text);
            text += '}';
        }
        text += ']';
    }
    return text.size() == 1 ? std::string() : text + "}";
}

void RowJson::append_tensors(std::string_view name, const std::vector<RowTensor>& tensors,
                             std::string& out) const {
    append_name(name, out);
    out += '[';
    for (const RowTensor& tensor : tensors)
        append_tensor(tensor, page_.is_confidential,
                      tensor.layout == kNoIndex32 || page_.rows.layouts[tensor.layout].bytes <= kFewBytes,
                      out);
    out += ']';
}

void RowJson::append_values(const PageRow& row, std::string& out) const {
    if (page_.is_confidential || (row.texts.empty() && row.values.empty())) return;
    append_name("values", out);
    out += '{';
    for (const auto& [argument, text] : row.texts)
        append_text_member(std::to_string(argument), text, out);
    for (const auto& [argument, bytes] : row.values) {
        const auto place = std::ranges::find(row.places, argument, &ArgumentPlace::argument);
        if (place == row.places.end() || place->layout == kNoIndex32) continue;
        std::string text;
        aoti_dbg::append_values(page_.rows.layouts[place->layout].facts, bytes, text);
        if (!text.empty()) append_text_member(std::to_string(argument), text, out);
    }
    out += '}';
}

void RowJson::append_links(std::uint32_t row, std::string& out) const {
    const std::size_t count = page_.rows.sites[page_.rows.rows[row].site].arguments.size();
    std::vector<std::int64_t> writers(count, -1);
    std::vector<std::string> readers(count);
    bool has_writer = false;
    bool has_reader = false;
    for (const RowLink& link : page_.links.to(row)) {
        writers[link.argument] = number_of(link.writer);
        has_writer |= writers[link.argument] >= 0;
    }
    for (const RowLink& link : page_.links.from(row)) {
        const std::int64_t reader = number_of(link.reader);
        std::string& list = readers[link.written_argument];
        if (reader < 0) continue;
        if (!list.empty()) list += ',';
        append_integer(reader, list);
        has_reader = true;
    }
    if (has_writer) {
        append_name("writers", out);
        out += '[';
        for (const std::int64_t writer : writers) {
            append_comma(out);
            append_integer(writer, out);
        }
        out += ']';
    }
    if (!has_reader) return;
    append_name("readers", out);
    out += '[';
    for (const std::string& list : readers) {
        append_comma(out);
        out.append("[").append(list).append("]");
    }
    out += ']';
}

void RowJson::append_files(std::uint32_t row, std::string& out) const {
    if (row >= page_.files.size() || page_.is_confidential) return;
    const RowFiles& files = page_.files[row];
    append_some_text("bundle", files.launch, out);
    if (!files.files.empty()) append_name("files", out);
    for (const PageFile& file : files.files) {
        out += &file == files.files.data() ? '[' : ',';
        out += '{';
        append_count_member("argument", file.argument, out);
        append_text_member("side", side_word(file.is_after), out);
        append_text_member("path", file.path, out);
        out += '}';
    }
    if (!files.files.empty()) out += ']';
    if (!files.histograms.empty()) append_name("histograms", out);
    for (const PageHistogram& histogram : files.histograms) {
        out += &histogram == files.histograms.data() ? '[' : ',';
        out += '{';
        append_count_member("argument", histogram.argument, out);
        append_text_member("side", side_word(histogram.is_after), out);
        append_name("edges", out);
        append_real_column(histogram.edges, out);
        append_name("counts", out);
        append_column({histogram.counts.begin(), histogram.counts.end()}, out);
        out += '}';
    }
    if (!files.histograms.empty()) out += ']';
}

std::string RowJson::detail(std::uint32_t index) const {
    const PageRow& row = page_.rows.rows[index];
    std::string text = "{";
    append_tensors("before", row.before, text);
    append_tensors("after", row.after, text);
    append_values(row, text);
    append_links(index, text);
    append_files(index, text);
    return text;
}

std::string RowJson::series(std::uint32_t index) const {
    const PageRow& row = page_.rows.rows[index];
    if (row.series == nullptr || page_.is_confidential) return {};
    const RowSeries& series = *row.series;
    const bool is_after = row.side != EventSide::outputs;
    const std::vector<RowTensor>& tensors = is_after ? row.after : row.before;
    if (series.runs().size() < 2) return {};
    std::string text = "\"series\":{\"runs\":";
    append_column({series.runs().begin(), series.runs().end()}, text);
    text += ",\"tensors\":[";
    const std::vector<std::size_t> chosen = series_tensors(page_.rows.sites[row.site], tensors);
    for (std::size_t i = 0; i < std::min(series.tensors(), chosen.size()); ++i) {
        append_comma(text);
        text += '{';
        append_count_member("argument", tensors[chosen[i]].argument, text);
        append_text_member("side", side_word(is_after), text);
        std::array<std::vector<double>, 4> reals;
        std::vector<std::int64_t> nan;
        bool has_moments = false;
        for (std::size_t run = 0; run < series.runs().size(); ++run) {
            const SeriesPoint& point = series.points()[run * series.tensors() + i];
            reals[0].push_back(point.has_moments ? point.mean : kUnknown);
            reals[1].push_back(point.has_moments ? point.deviation : kUnknown);
            reals[2].push_back(point.has_moments ? point.minimum : kUnknown);
            reals[3].push_back(point.has_moments ? point.maximum : kUnknown);
            nan.push_back(exact(point.nan));
            has_moments |= point.has_moments;
        }
        constexpr std::array<std::string_view, 4> kNames = {"mean", "std", "min", "max"};
        for (std::size_t name = 0; has_moments && name < kNames.size(); ++name) {
            append_name(kNames[name], text);
            append_real_column(reals[name], text);
        }
        append_name("nan", text);
        append_column(nan, text);
        text += '}';
    }
    return text + "]}";
}

}  // namespace aoti_dbg::cli
