// Level 2 and the NaN check on random call graphs. Measurements that wait or are reused never show a value of
// another moment: what AOTI_DBG_REUSE=off prints, where every tensor is measured at its own point, is the
// same.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/preload/call_program.hpp"
#include "tests/preload/stats_records.hpp"
#include "tests/support/catch.hpp"

namespace aoti_dbg::test::stats_program_test {
namespace {

#ifdef AOTI_DBG_HAS_FAKE_CUDA

namespace fs = std::filesystem;

constexpr std::uint64_t kSeeds = 40;

/// A folder with the model, one program, and its source.
class ProgramModel {
  public:
    explicit ProgramModel(const CallProgram& program) : ProgramModel(program.program(), program.source()) {}
    ProgramModel(const std::string& program, const std::string& body) {
        const fs::path original = fs::path(model_path("stats_program")).parent_path();
        fs::copy(original, folder_.path(), fs::copy_options::recursive);
        std::string source = read_text(original / "cstats_program.wrapper.cpp");
        const std::string begin = "AOTICudaStreamGuard stream_guard(stream, this->device_idx_);\n";
        const std::size_t from = source.find(begin) + begin.size();
        source.replace(from, source.find("} // AOTInductorModel::run_impl") - from, body);
        std::ofstream(folder_.path() / "cstats_program.wrapper.cpp") << source;
        std::ofstream(folder_.path() / "program") << program;
    }
    [[nodiscard]] std::string path() const { return (folder_.path() / "cstats_program.wrapper.so").string(); }

  private:
    TempFolder folder_;
};

/// What a device or an allocator may do.
Variables environment(std::uint64_t seed) {
    Variables env;
    if (seed % 2 == 1) env.insert({"FAKE_TORCH_SCRATCH", "1"});
    // As with PyTorch, each run gets the addresses of the one before.
    if (seed % 4 != 3) env.insert({"FAKE_TORCH_LOWEST", "1"});
    switch (seed / 2 % 4) {
        case 0:
            break;
        case 1:
            env.insert({"FAKE_CUDA_DELAY_US", "30"});
            break;
        case 2:
            env.insert({"FAKE_CUDA_INLINE", "1"});
            break;
        default:
            env.insert({"FAKE_TORCH_SILENT", "1"});
    }
    return env;
}

Lines victim(std::uint64_t seed, const std::string& model) {
    const char* const streams[] = {"legacy", "nonblocking", "per_thread", "blocking"};
    Lines words = {victim_path("cuda_models"), "--runs", "3", "--streams", streams[seed / 8 % 4]};
    if (seed % 5 == 0) words.emplace_back("--weights");
    words.push_back(model);
    return words;
}

Variables with(Variables env, const Variables& more) {
    env.insert(more.begin(), more.end());
    return env;
}

/// The records as text, each with its title. It omits where they were measured, and the lines of findings.
Lines shown(const Preloaded& run) {
    Lines lines;
    for (const Record& record : records(run)) {
        std::string line = record.title;
        for (const auto& [name, value] : record.fields)
            if (name != "As of" && name.front() != ' ') line += "; " + name + ": " + value;
        lines.push_back(line);
    }
    return lines;
}

/// What a line of events.jsonl says of a name, up to the next comma or bracket.
std::string said(const std::string& line, const std::string& name) {
    const std::size_t at = line.find("\"" + name + "\":");
    return at == std::string::npos ? "" : line.substr(at, line.find_first_of(",}] ", at) - at);
}

/// Each finding's kind, place, output and first element.
Lines findings(const Preloaded& run) {
    Lines found;
    for (const std::string& line : event_lines(run.out())) {
        if (line.rfind("{\"event\":\"finding\"", 0) != 0) continue;
        std::string text;
        for (const char* name : {"kind", "kernel", "site", "label", "run", "call", "elements"})
            text += said(line, name) + " ";
        // Of a transposed weight, only AOTI_DBG_STATS=full finds the first element.
        if (!contains(line, "weight_nan")) text += said(line, "first");
        found.push_back(text);
    }
    return found;
}

std::string first_difference(const Lines& got, const Lines& expected) {
    for (std::size_t i = 0; i < std::max(got.size(), expected.size()); ++i) {
        const std::string one = i < got.size() ? got[i] : "nothing";
        const std::string other = i < expected.size() ? expected[i] : "nothing";
        if (one != other) return "line " + std::to_string(i) + ": expected " + other + ", got " + one;
    }
    return "";
}

/// What is wrong in the findings of the check alone. It does not measure what an output held before the call,
/// so it also reports a new NaN where an old one was: of a square root, or in an earlier run.
std::string wrong_in(const Lines& got, const Lines& expected) {
    const auto place = [](const std::string& finding) { return finding.substr(0, finding.find(" \"run\"")); };
    const auto run = [](const std::string& finding) {
        return said(finding.substr(finding.find("\"run\"")), "run");
    };
    const auto find = [&place](const Lines& findings, const std::string& sought) {
        return std::find_if(findings.begin(), findings.end(),
                            [&](const std::string& finding) { return place(finding) == place(sought); });
    };
    for (const std::string& finding : expected) {
        const auto same = find(got, finding);
        if (same == got.end()) return "expected " + finding + ", got nothing";
        if (run(*same) == run(finding) && *same != finding) return "expected " + finding + ", got " + *same;
        if (run(*same) > run(finding)) return "expected " + finding + ", got it later: " + *same;
    }
    for (const std::string& finding : got)
        if (!contains(finding, "sqrt") && find(expected, finding) == expected.end())
            return "expected nothing, got " + finding;
    return "";
}

/// The records without findings, which name the first selected run that has them.
Lines values(const Preloaded& run) {
    Lines lines = shown(run);
    for (std::string& line : lines)
        line.resize(std::min(line.size(), line.find("; [ finding ")));
    return lines;
}

/// Windows of AOTI_DBG_RUNS, and the runs among the first three that they select.
struct RunWindow {
    const char* text;
    std::vector<std::size_t> selected;
};
const RunWindow kWindows[] = {{"::2", {0, 2}}, {"0", {0}}, {":2", {0, 1}}, {"1:2", {1}}};

TEST_CASE("Skipped runs change no value of selected ones on random call graphs") {
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        const CallProgram program(seed);
        const ProgramModel model(program);
        const Variables env = with(environment(seed), {{"AOTI_DBG_LEVEL", "2"}, {"AOTI_DBG_STATS", "full"}});
        const bool has_new_weights = seed % 5 == 0;  // as victim() says: three more runs follow
        const std::size_t runs = has_new_weights ? 6 : 3;
        const RunWindow& window = kWindows[seed / 3 % std::size(kWindows)];
        std::vector<std::size_t> selected = window.selected;
        if (has_new_weights && window.text == std::string("::2")) selected.push_back(4);
        const Preloaded exact(victim(seed, model.path()), with(env, {{"AOTI_DBG_REUSE", "off"}}));
        const Preloaded some(victim(seed, model.path()), with(env, {{"AOTI_DBG_RUNS", window.text}}));
        CAPTURE(seed, window.text, program.program(), some.outcome.err);
        REQUIRE(some.outcome.out == exact.outcome.out);
        REQUIRE(contains(some.outcome.err, "skipped"));
        REQUIRE(first_difference(values(some), part_of(values(exact), runs, selected)) == "");
    }
}

TEST_CASE("Waiting and reuse show the values of the same moment on random call graphs") {
    std::size_t total = 0;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        const CallProgram program(seed);
        const ProgramModel model(program);
        const Variables env = with(environment(seed), {{"AOTI_DBG_LEVEL", "2"}, {"AOTI_DBG_STATS", "full"}});
        const Preloaded exact(victim(seed, model.path()), with(env, {{"AOTI_DBG_REUSE", "off"}}));
        const Preloaded batched(victim(seed, model.path()), env);
        const Preloaded checked(victim(seed, model.path()),
                                with(environment(seed), {{"AOTI_DBG_LEVEL", ""}, {"AOTI_DBG_CHECK", "nan"}}));
        CAPTURE(seed, program.program(), batched.outcome.err, checked.outcome.err);
        REQUIRE(exact.outcome.exit_code == 0);
        REQUIRE(checked.outcome.exit_code == 0);
        REQUIRE(batched.outcome.out == exact.outcome.out);
        REQUIRE(checked.outcome.out == exact.outcome.out);
        const Lines expected = shown(exact);
        REQUIRE(!expected.empty());
        REQUIRE(first_difference(shown(batched), expected) == "");
        REQUIRE(first_difference(findings(batched), findings(exact)) == "");
        REQUIRE(wrong_in(findings(checked), findings(exact)) == "");
        total += findings(exact).size();
    }
    CHECK(total > kSeeds / 2);
}

/// Half of a buffer has NaN. After a call reads the whole buffer, another one reads the other half and makes
/// NaN of it.
ProgramModel with_nan_in_one_half() {
    std::string text;
    std::string body = program::kBeginning;
    for (const char* const number : {"0", "1", "2", "3", "4"}) {
        const std::string name = std::string("buf") + number;
        const std::string dtype = *number == '3' ? "int64" : *number == '4' ? "bool" : "float32";
        text += std::string("empty ") + number + (*number == '3' ? " 1\n" : *number == '4' ? " 2\n" : " 0\n");
        body += "    AtenTensorHandle " + name + "_handle;\n    AOTI_TORCH_ERROR_CODE_CHECK(" +
                "aoti_torch_empty_strided(2, int_array_0, int_array_1, cached_torch_dtype_" + dtype +
                ", cached_torch_device_type_cuda, this->device_idx_, &" + name + "_handle));\n" +
                "    RAIIAtenTensorHandle " + name + "(" + name + "_handle);\n";
    }
    const auto call = [&](const std::string& kernel, const std::string& word, program::Tensor in,
                          program::Tensor out, const std::string& more) {
        body += "    call_" + kernel + "(" + program::expression(in) + ", " + program::expression(out) +
                ", " + more + program::count(in.part) +
                ", this->device_idx_, stream, kernels, this->cubin_dir_);\n";
        text += word;
        for (const int number : {in.buffer, in.part, out.buffer, out.part})
            text += " " + std::to_string(number);
        text += "\n";
    };
    call("add_kernel_0", "scale", {program::kInput, 1}, {0, 1}, "0.5, ");
    call("triton_poi_fused_sqrt_2", "sqrt", {program::kInput, 2}, {0, 2}, "");
    call("add_kernel_0", "scale", {0, 0}, {1, 0}, "0.5, ");
    call("triton_poi_fused_sqrt_2", "sqrt", {0, 1}, {2, 1}, "");
    body +=
        "    call_triton_poi_fused_gt_arange_1(buf1, buf4, buf3, 128L, this->device_idx_, stream, kernels, "
        "this->cubin_dir_);\n";
    text += "gt 1 4 3\nreturn 1 3 4\n";
    for (const char* const output : {"[0] = buf1", "[1] = buf3", "[2] = buf4"})
        body += std::string("    output_handles") + output + ".release();\n";
    return {text, body};
}

TEST_CASE("What is known of a whole buffer says nothing about a view of it") {
    const ProgramModel model = with_nan_in_one_half();
    const Variables check = {{"AOTI_DBG_LEVEL", ""}, {"AOTI_DBG_CHECK", "nan"}};
    const Lines words = {victim_path("cuda_models"), model.path()};
    const Preloaded exact(words, with(check, {{"AOTI_DBG_REUSE", "off"}}));
    const Preloaded checked(words, check);
    CHECK(findings(exact).size() == 2);
    CHECK(first_difference(findings(checked), findings(exact)) == "");
}

#endif

}  // namespace
}  // namespace aoti_dbg::test::stats_program_test
