// What a page shows besides its rows (page_rows.hpp). Plain data, read from an output folder.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/page/page_rows.hpp"
#include "cli/page/row_links.hpp"
#include "serializer/finding.hpp"

namespace aoti_dbg::cli {

struct PageFinding {
    Finding finding;  // the first of its kind
    std::uint32_t process = 0;
    std::uint32_t model = kNoIndex32;
    std::uint32_t row = kNoIndex32;
    std::uint64_t count = 1;
    std::string repeat;
};

struct PageProcess {
    std::uint32_t pid = 0;
    std::uint64_t start_ns = 0;
    std::string rank;
    std::string command;
    std::string program;  // the command as a shell starts it; empty: unknown
    std::string events;   // the path of its file of events
    std::string host;
    std::string library;
    std::string folder;  // absolute
    std::uint64_t runs = 0;
    std::uint64_t calls = 0;
    std::vector<std::pair<std::string, std::uint64_t>> coverage;
    std::vector<std::string> notes;
};

struct PageVerdict {
    std::string state = "nothing";
    std::string sentence;
    std::string code;
    std::string kind;
    std::string report;
    std::vector<std::string> repeat;
    std::vector<std::string> advice;
};

struct PageSource {
    std::string name;
    std::uint32_t first_line = 1;
    std::string text;
};

/// Links of a row to files, relative to the page's folder.
struct PageFile {
    std::uint16_t argument = 0;
    bool is_after = false;
    std::string path;
};

struct PageHistogram {
    std::uint16_t argument = 0;
    bool is_after = false;
    std::vector<double> edges;
    std::vector<std::uint64_t> counts;
};

struct RowFiles {
    std::vector<PageFile> files;
    std::vector<PageHistogram> histograms;
    std::string launch;
};

struct PageDiff {
    bool is_there = false;
    std::string sentence;
    std::string text;
    std::string other;
    std::vector<std::pair<std::uint32_t, std::string>> rows;
};

struct Page {
    std::string folder;  // absolute
    bool is_confidential = false;
    PageVerdict verdict;
    std::vector<PageProcess> processes;
    std::vector<PageFinding> findings;
    std::uint64_t finding_count = 0;
    PageRows rows;
    std::vector<std::uint32_t> order;  // of the rows
    RowLinks links;
    std::vector<RowFiles> files;  // of each row
    std::vector<PageSource> sources;
    std::vector<std::uint32_t> source_of_site;  // kNoIndex32: none
    std::vector<std::uint32_t> source_of_kernel;
    std::vector<std::string> packages;  // by model
    std::vector<std::string> torch;     // by model
    PageDiff diff;
    std::vector<std::string> left_out;
};

}  // namespace aoti_dbg::cli
