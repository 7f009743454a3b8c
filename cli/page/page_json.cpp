// See page_json.hpp.
#include "cli/page/page_json.hpp"

#include <algorithm>
#include <iterator>

#include "base/words.hpp"
#include "cli/page/findings_json.hpp"
#include "cli/page/main_tensors.hpp"
#include "cli/page/page_text.hpp"
#include "cli/page/row_json.hpp"
#include "serializer/number_text.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::size_t kReserve = 4096;  // for the list of what is left out, and the ends of lists

/// Returns the rows by importance: first those with a finding, NaN or failure, then the others in order.
std::vector<std::uint32_t> by_importance(const Page& page) {
    const auto has_event = [&](std::uint32_t row) {
        return (page.rows.rows[row].flags & (kHasNan | kHasFinding | kFailed | kDidNotEnd)) != 0;
    };
    std::vector<std::uint32_t> rows;
    rows.reserve(page.order.size());
    std::ranges::copy_if(page.order, std::back_inserter(rows), has_event);
    std::ranges::copy_if(page.order, std::back_inserter(rows),
                         [&](std::uint32_t row) { return !has_event(row); });
    return rows;
}

class PageText {
  public:
    PageText(const Page& page, std::size_t most)
        : page_(page), most_(most), important_(by_importance(page)), left_out_(page.left_out) {}

    std::string render() {
        const std::string kernels = kernels_text();
        const std::string layouts = layouts_text();
        choose_rows();
        const RowJson rows(page_, chosen_);
        std::string text = head_text(rows);
        text += kernels + layouts;
        text += ",\"sites\":{" + site_columns_ + ",\"more\":{";
        fill(rows, most_ - std::min(most_, text.size() + row_columns_.size() + kReserve));
        text += more_ + "}},\"rows\":{" + row_columns_ + ",\"detail\":";
        append_details(rows, text);
        text += main_tensors_;
        return text + recorded_json(page_, left_out_) + "}";
    }

  private:
    /// Kernels are in the order of their first calls. Calls of kernels that do not fit are left out.
    std::string kernels_text() {
        std::string text = ",\"kernels\":[";
        const std::vector<PageKernel>& kernels = page_.rows.kernels;
        for (; kernels_ < kernels.size() && text.size() < most_ / 3; ++kernels_)
            append_kernel(kernels[kernels_], text);
        if (kernels_ < kernels.size())
            left_out_.push_back(counted(kernels.size() - kernels_, "kernel") + " and their calls");
        return text + "]";
    }

    void append_kernel(const PageKernel& kernel, std::string& text) const {
        append_comma(text);
        text += '{';
        append_text_member("name", kernel.name, text);
        append_text_member("kind", kernel.kind, text);
        append_count_member("count", kernel.count, text);
        append_name("time_ns", text);
        append_integer(static_cast<std::uint64_t>(std::clamp(kernel.time_ns, 0.0, 9e15)), text);
        append_text_member("time", kernel.is_device_time ? "device" : "host", text);
        append_name("bytes", text);
        append_integer(static_cast<std::uint64_t>(std::clamp(kernel.bytes, 0.0, 9e15)), text);
        append_count_member("findings", kernel.findings, text);
        if (kernels_ < page_.source_of_kernel.size() && page_.source_of_kernel[kernels_] != kNoIndex32)
            append_count_member("source", page_.source_of_kernel[kernels_], text);
        text += '}';
    }

    std::string layouts_text() {
        std::string text;
        append_texts_member("dtypes", page_.rows.dtypes, text = ",");
        text.erase(0, 1);
        std::string list = ",\"layouts\":[";
        for (const PageLayout& layout : page_.rows.layouts) {
            append_comma(list);
            list += '[';
            append_integer(std::uint64_t{layout.dtype}, list);
            list += ",[";
            for (const std::int64_t size : layout.facts.sizes) {
                append_comma(list);
                append_integer(size, list);
            }
            list += "],";
            append_page_text(layout.facts.device, list);
            list += ']';
        }
        has_layouts_ = list.size() + text.size() < most_ / 3;
        if (has_layouts_) return text + list + "]";
        left_out_.emplace_back("all tensors, because they have too many different shapes");
        return ",\"dtypes\":[],\"layouts\":[]";
    }

    void choose_rows() {
        std::vector<std::uint32_t> kept = important_;
        std::erase_if(kept, [&](std::uint32_t row) {
            return page_.rows.sites[page_.rows.rows[row].site].kernel >= kernels_;
        });
        const std::size_t all = kept.size();
        for (;;) {
            std::vector<bool> is_chosen(page_.rows.rows.size());
            for (const std::uint32_t row : kept)
                is_chosen[row] = true;
            chosen_.clear();
            std::ranges::copy_if(page_.order, std::back_inserter(chosen_),
                                 [&](std::uint32_t row) { return is_chosen[row]; });
            const RowJson rows(page_, chosen_);
            row_columns_ = rows.columns();
            site_columns_ = rows.site_columns();
            if (kept.empty() || row_columns_.size() + site_columns_.size() < most_ / 2) break;
            kept.resize(kept.size() * 4 / 5);
        }
        if (kept.size() < all) left_out_.push_back(counted(all - kept.size(), "call"));
    }

    /// Chooses what of the rows fits. Statistics over runs come last.
    void fill(const RowJson& rows, const std::size_t all_room) {
        std::size_t room = all_room;
        if (choose_details(rows, room) != 0) {
            std::string main_tensors = main_tensors_json(page_, chosen_);
            // Calls with findings still have details.
            const bool has_room = main_tensors.size() < all_room / 3 * 2;
            if (has_room) main_tensors_ = std::move(main_tensors);
            room = all_room - main_tensors_.size();
            const std::string calls = counted(choose_details(rows, room), "call");
            left_out_.push_back(
                (has_room ? "arguments and most statistics of " : "statistics and arguments of ") + calls +
                ": events.jsonl has them");
        }
        choose_series(rows, room);
    }

    /// Gives each row its details until no room is left. Returns the number of rows without details.
    std::size_t choose_details(const RowJson& rows, std::size_t& room) {
        detailed_ = important_;
        std::erase_if(detailed_, [&](std::uint32_t row) { return rows.number_of(row) < 0; });
        more_.clear();
        details_.assign(chosen_.size(), {});
        std::vector<bool> has_more(page_.rows.sites.size());
        std::size_t taken = 0;
        for (; has_layouts_ && taken < detailed_.size(); ++taken) {
            const std::uint32_t site = page_.rows.rows[detailed_[taken]].site;
            std::string more = has_more[site] ? std::string() : rows.more_of_site(site);
            std::string detail = rows.detail(detailed_[taken]);
            constexpr std::size_t kOfEach = 16;  // for the name in `more`, and the number of the detail
            const std::size_t cost = more.size() + detail.size() + 2 * kOfEach;
            if (cost > room) break;
            room -= cost;
            has_more[site] = true;
            if (!more.empty())
                more_ +=
                    (more_.empty() ? "\"" : ",\"") + std::to_string(rows.site_number(site)) + "\":" + more;
            details_[static_cast<std::size_t>(rows.number_of(detailed_[taken]))] = std::move(detail);
        }
        const std::size_t without = detailed_.size() - taken;
        detailed_.resize(taken);
        return without;
    }

    void choose_series(const RowJson& rows, std::size_t room) {
        std::uint64_t without = 0;
        for (const std::uint32_t row : detailed_) {
            const std::string series = rows.series(row);
            if (series.empty()) continue;
            if (series.size() + 1 > room) {
                ++without;
                continue;
            }
            room -= series.size() + 1;
            details_[static_cast<std::size_t>(rows.number_of(row))] += "," + series;
        }
        if (without != 0) left_out_.push_back("statistics over runs of " + counted(without, "call"));
    }

    void append_details(const RowJson& rows, std::string& text) const {
        std::vector<std::int64_t> numbers;
        numbers.reserve(rows.chosen().size());
        std::int64_t next = 0;
        for (std::size_t i = 0; i < rows.chosen().size(); ++i)
            numbers.push_back(details_[i].empty() ? -1 : next++);
        append_column(numbers, text);
        text += "},\"details\":[";
        for (const std::string& detail : details_) {
            if (detail.empty()) continue;
            append_comma(text);
            text.append(detail).append("}");
        }
        text += ']';
    }

    std::string head_text(const RowJson& rows) const {
        std::string text = head_json(page_);
        text += findings_json(page_, rows);
        text += diff_json(page_, rows);
        return text;
    }

    const Page& page_;
    std::size_t most_;
    std::vector<std::uint32_t> important_;
    std::vector<std::string> left_out_;
    std::vector<std::uint32_t> chosen_;
    std::string row_columns_;   // of the chosen rows
    std::string site_columns_;  // of their call sites
    std::size_t kernels_ = 0;   // that the page has
    bool has_layouts_ = false;
    std::string more_;
    std::string main_tensors_;
    std::vector<std::uint32_t> detailed_;  // rows that have details
    std::vector<std::string> details_;     // of the chosen rows; without the closing brace
};

/// Returns whether there was something to drop.
bool drop_half(std::string& text) {
    const bool has_text = !text.empty();
    text.resize(text.size() / 2);
    return has_text;
}

/// Drops the sources and half of the findings and long texts. Returns false if there was nothing to drop.
bool shorten(Page& page) {
    bool has_dropped = !page.sources.empty() || !page.findings.empty();
    page.sources.clear();
    page.source_of_site.clear();
    page.source_of_kernel.clear();
    page.findings.resize(page.findings.size() / 2);
    PageVerdict& verdict = page.verdict;
    verdict.report.clear();
    verdict.repeat.clear();
    verdict.advice.clear();
    has_dropped |= drop_half(page.diff.text);
    for (PageProcess& process : page.processes) {
        process.notes.clear();
        for (std::string* text : {&process.command, &process.host, &process.rank, &process.folder})
            has_dropped |= drop_half(*text);
    }
    for (PageModel& model : page.rows.models)
        for (std::string* text : {&model.path, &model.name})
            has_dropped |= drop_half(*text);
    page.left_out.assign(1, "sources, some findings, and parts of long texts: the output folder has them");
    return has_dropped;
}

}  // namespace

std::string page_json(Page& page, std::size_t most_bytes) {
    std::string text = PageText(page, most_bytes).render();
    // Only names and texts of an unusual length get here.
    while (text.size() > most_bytes && shorten(page))
        text = PageText(page, most_bytes).render();
    return text;
}

}  // namespace aoti_dbg::cli
