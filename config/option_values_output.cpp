// The values about output and its cost. See option_readers.hpp.
#include <algorithm>

#include "config/byte_size.hpp"
#include "config/option_readers.hpp"

namespace aoti_dbg::option_values {
namespace {

constexpr std::uint32_t kLargestRing = 1U << 20U;  // 64 MiB per thread
constexpr std::uint32_t kMostWriters = 64;
constexpr std::uint64_t kLeastStaging = std::uint64_t{1} << 20U;

Taken take_limit(const Texts& texts, std::uint64_t& limit) {
    const std::string_view text = only_text(texts);
    if (equal_ignoring_case(text, "none")) {
        limit = UINT64_MAX;
        return std::nullopt;
    }
    const std::optional<std::uint64_t> bytes = parse_byte_size(text);
    if (!bytes) return Fault{};
    limit = *bytes;
    return std::nullopt;
}

}  // namespace

Taken take_format(const Texts& texts, Options& options) {
    return take_word(
        texts,
        {{"text", OutputFormat::text}, {"compact", OutputFormat::compact}, {"jsonl", OutputFormat::jsonl}},
        options.format);
}

Taken take_stats(const Texts& texts, Options& options) {
    return take_word(
        texts,
        {{"printed", StatsDetail::printed}, {"indices", StatsDetail::indices}, {"full", StatsDetail::full}},
        options.stats);
}

Taken take_out(const Texts& texts, Options& options) {
    return take_pattern(texts, options.out);
}

Taken take_log(const Texts& texts, Options& options) {
    Taken fault = take_pattern(texts, options.log);
    const bool stream =
        equal_ignoring_case(options.log, "stderr") || equal_ignoring_case(options.log, "stdout");
    if (stream) options.log = lower_case(options.log);
    return fault;
}

Taken take_torch_save_dir(const Texts& texts, Options& options) {
    return take_text(texts, options.torch_save_dir);
}

Taken take_pt_layout(const Texts& texts, Options& options) {
    return take_word(texts, {{"runs", PtLayout::runs}, {"torch", PtLayout::torch}}, options.pt_layout);
}

Taken take_portable_names(const Texts& texts, Options& options) {
    return take_switch(texts, options.portable_names);
}

Taken take_config(const Texts& texts, Options& options) {
    return take_text(texts, options.config);
}

Taken take_max_tensor(const Texts& texts, Options& options) {
    return take_limit(texts, options.max_tensor);
}

Taken take_max_bytes(const Texts& texts, Options& options) {
    return take_limit(texts, options.max_bytes);
}

Taken take_max_files(const Texts& texts, Options& options) {
    const std::optional<std::uint64_t> number = decimal(only_text(texts));
    if (!number || *number == 0) return Fault{};
    options.max_files = *number;
    return std::nullopt;
}

Taken take_keep(const Texts& texts, Options& options) {
    constexpr std::string_view kLast = "last:";
    const std::string text = lower_case(only_text(texts));
    if (text == "first") {
        options.keep_last = 0;
        options.keep_given = true;
        return std::nullopt;
    }
    if (text.rfind(kLast, 0) != 0) return unknown_word(text, {"first", "last:1"});
    const std::optional<std::uint64_t> runs = decimal(trimmed(std::string_view(text).substr(kLast.size())));
    if (!runs || *runs == 0) return Fault{"expected a number of runs, 1 or more, after the colon", {}, {}};
    options.keep_last = static_cast<std::uint32_t>(std::min<std::uint64_t>(*runs, UINT32_MAX));
    options.keep_given = true;
    return std::nullopt;
}

Taken take_save_on(const Texts& texts, Options& options) {
    Taken fault =
        take_word(texts, {{"always", SaveOn::always}, {"finding", SaveOn::finding}}, options.save_on);
    if (!fault) options.save_on_given = true;
    return fault;
}

Taken take_staging(const Texts& texts, Options& options) {
    const std::optional<std::uint64_t> bytes = parse_byte_size(only_text(texts));
    if (!bytes || *bytes < kLeastStaging) return Fault{};
    options.staging = *bytes;
    return std::nullopt;
}

Taken take_writers(const Texts& texts, Options& options) {
    return take_capped(texts, "auto", kMostWriters, options.writers);
}

Taken take_reuse(const Texts& texts, Options& options) {
    return take_switch(texts, options.reuse);
}

Taken take_on_full(const Texts& texts, Options& options) {
    return take_word(texts, {{"wait", OnFull::wait}, {"drop", OnFull::drop}}, options.on_full);
}

Taken take_sync(const Texts& texts, Options& options) {
    return take_switch(texts, options.sync);
}

Taken take_timeline(const Texts& texts, Options& options) {
    return take_switch(texts, options.timeline);
}

Taken take_ring(const Texts& texts, Options& options) {
    const std::optional<std::uint64_t> number = decimal(only_text(texts));
    if (!number) return Fault{};
    if (*number > kLargestRing) {
        options.ring = kLargestRing;
        return Fault{{}, {}, "Using the maximum, " + std::to_string(kLargestRing)};
    }
    std::uint32_t rounded = *number == 0 ? 0 : 1;
    while (rounded < *number)
        rounded *= 2;
    options.ring = rounded;
    return std::nullopt;
}

}  // namespace aoti_dbg::option_values
