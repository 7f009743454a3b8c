// What a page's data looks like: short columns, harmless texts, a limit in bytes, and files outside of the
// folder that it does not read.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cli/page/page_diff.hpp"
#include "cli/page/page_json.hpp"
#include "cli/page/page_template.hpp"
#include "cli/page/page_text.hpp"
#include "cli/page/read_page.hpp"
#include "serializer/event_jsonl.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/page_data.hpp"
#include "tests/support/random.hpp"
#include "tests/support/run_program.hpp"
#include "tests/unit/event_fixture.hpp"

namespace aoti_dbg::cli::page_json_test {
namespace {

namespace fs = std::filesystem;
using test::Json;
using test::TempFolder;

constexpr std::size_t kMuch = 4'000'000;

std::string text_json(std::string_view text) {
    std::string json;
    append_page_text(text, json);
    return json;
}

std::string column_json(const std::vector<std::int64_t>& numbers) {
    std::string json;
    append_column(numbers, json);
    return json;
}

/// An output folder with a file of events.
struct Recording {
    Recording() { fs::create_directory(folder()); }
    [[nodiscard]] std::string folder() const { return (temporary.path() / "out").string(); }
    void write(const std::string& text) const {
        std::ofstream(folder() + "/events.jsonl", std::ios::binary) << text;
    }
    [[nodiscard]] Page page(bool is_confidential = false) const {
        Result<Page> page = read_page({folder(), folder(), is_confidential});
        REQUIRE(page.ok());
        return std::move(page.value());
    }
    [[nodiscard]] Json data(bool is_confidential = false) const {
        Page read = page(is_confidential);
        Json data = Json::parse(page_json(read, kMuch), nullptr, false);
        REQUIRE(data.is_object());
        return data;
    }
    TempFolder temporary;
};

const char* const kHeader =
    R"({"event":"header","format":"aoti-dbg-events","version":1,"pid":4242,"command":"python infer.py","host":"node7","rank":"3","start_ns":1789999990000000000,"library":"0.1.0"})"
    "\n";

/// Calls of one run at as many places, each with one tensor.
std::string many_calls(std::uint32_t calls) {
    std::string text = kHeader;
    JsonlRenderer renderer;
    const test::HeldTensor tensor(DType::float32, {2}, std::vector<float>{1.5F, -2.25F});
    const ArgumentFacts label = test::label_of("buf0");
    const std::vector<MeasuredArgument> arguments = {tensor.measured(label)};
    for (std::uint32_t call = 0; call < calls; ++call) {
        SiteFacts site = test::site_of("triton_poi_fused_" + std::to_string(call % 50));
        site.line = 3 * call + 1;
        MeasuredCall event = test::call_of(EventSide::after, &site, arguments);
        event.model = 0;
        event.call = call;
        event.sequence = call + 1;
        renderer.render(event, text);
    }
    return text;
}

TEST_CASE("A text of a recording cannot leave the script element or become markup") {
    CHECK(text_json("</script><img src=x onerror=alert(1)>") ==
          R"("\u003c/script\u003e\u003cimg src=x onerror=alert(1)\u003e")");
    CHECK(text_json("a&b<!--") == R"("a\u0026b\u003c!--")");
    CHECK(text_json("\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xA7") == "\"\\u2028\\u2029\xE2\x80\xA7\"");
    CHECK(text_json("\xE2\x80") == "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
    for (const std::string& text :
         {std::string("\xFF\x01\0\x7F", 4), std::string("\"\\\n\t"), std::string("\xF0\x9F")}) {
        const Json read = Json::parse(text_json(text), nullptr, false);
        CHECK(read.is_string());
    }
}

TEST_CASE("A column is as short as possible and gives the same numbers") {
    CHECK(column_json({}) == "[]");
    CHECK(column_json({1, 5, 2}) == "[1,5,2]");
    CHECK(column_json({INT64_MIN, INT64_MAX}) == "[-9223372036854775808,9223372036854775807]");
    CHECK(column_json(std::vector<std::int64_t>(1000, 7)) == R"({"rle":[7,1000]})");
    std::vector<std::int64_t> numbers;
    for (int i = 0; i < 1000; ++i)
        numbers.push_back(5 + 2 * i);
    CHECK(column_json(numbers) == R"({"delta":{"rle":[5,1,2,999]}})");
    Random random(7);
    for (int round = 0; round < 200; ++round) {
        numbers.clear();
        for (std::uint64_t i = random.below(40); i > 0; --i)
            numbers.push_back(static_cast<std::int64_t>(random.below(round % 2 == 0 ? 3 : 1U << 30U)) - 1);
        CHECK(test::column(Json::parse(column_json(numbers))) == numbers);
    }
}

TEST_CASE("A number has five digits, and one that is not finite is a string") {
    const auto json = [](double number) {
        std::string text;
        append_page_number(number, text);
        return text;
    };
    CHECK(json(0.123456789) == "0.12346");
    CHECK(json(-1234567) == "-1.2346e+06");
    CHECK(json(__builtin_nan("")) == "\"NaN\"");
    CHECK(json(-__builtin_inf()) == "\"-Infinity\"");
    std::string list;
    append_real_column({1, kUnknown, __builtin_nan("")}, list);
    CHECK(list == R"([1,null,"NaN"])");
}

std::string repeated(const std::string& text, std::size_t count) {
    std::string all;
    for (; count > 0; --count)
        all += text;
    return all;
}

TEST_CASE("A page keeps its limit and says what it leaves out") {
    const Recording recording;
    recording.write(many_calls(5000));
    Page page = recording.page();
    for (const std::size_t most : {60'000U, 250'000U, 4'000'000U}) {
        CAPTURE(most);
        const std::string text = page_json(page, most);
        CHECK(text.size() <= most);
        const Json data = Json::parse(text, nullptr, false);
        REQUIRE(data.is_object());
        const std::size_t calls = test::kernels_of_rows(data).size();
        const auto detail = test::column(data["rows"]["detail"]);
        CHECK(detail.size() == calls);
        const bool has_all = calls == 5000 && data["details"].size() == calls;
        CHECK(data["recorded"]["left_out"].empty() == has_all);
        CHECK(has_all == (most == 4'000'000U));
        CHECK(data["details"].size() == static_cast<std::size_t>(*std::ranges::max_element(detail) + 1));
        // Where it fits, the table then has numbers in each row: four, of three characters each.
        CHECK(data.contains("main") == (most == 250'000U));
        if (!data.contains("main")) continue;
        CHECK(data["main"]["before"]["numbers"].get<std::string>() == repeated("////////////", calls));
        CHECK(data["main"]["after"]["numbers"].get<std::string>().size() == 12 * calls);
        CHECK(test::column(data["main"]["after"]["nan"]) == std::vector<std::int64_t>(calls));
        CHECK(data["details"].size() > 0);
    }
}

TEST_CASE("A page keeps its limit with findings of any length") {
    const Recording recording;
    std::string text = kHeader;
    for (int i = 0; i < 100; ++i) {
        Finding finding;
        finding.kernel = "triton_poi_fused_" + std::to_string(i) + std::string(3000, '<');
        finding.tensor.label = std::string(3000, '&');
        append_finding_json(finding, text);
    }
    recording.write(text);
    Page page = recording.page();
    CHECK(page.findings.size() == 100);
    const std::string json = page_json(page, 200'000);
    CHECK(json.size() <= 200'000);
    const Json data = Json::parse(json, nullptr, false);
    REQUIRE(data.is_object());
    CHECK(!data["recorded"]["left_out"].empty());
    CHECK(data["recorded"]["findings"] == 100);
}

TEST_CASE("A page keeps its limit with many processes that have long commands") {
    const Recording recording;
    for (int pid = 1; pid <= 20; ++pid) {
        std::string text = kHeader;
        text.replace(text.find("infer.py"), 8, std::string(20'000, '&'));
        text.replace(text.find("4242"), 4, std::to_string(pid));
        std::ofstream(recording.folder() + "/events-" + std::to_string(pid) + ".jsonl") << text;
    }
    Page page = recording.page();
    REQUIRE(page.processes.size() == 20);
    const std::string json = page_json(page, 200'000);
    CHECK(json.size() <= 200'000);
    const Json data = Json::parse(json, nullptr, false);
    REQUIRE(data.is_object());
    CHECK(data["processes"].size() == 20);
    CHECK(!data["recorded"]["left_out"].empty());
}

TEST_CASE("Times on the device come from the timeline") {
    const Recording recording;
    recording.write(many_calls(3));
    std::ofstream(recording.folder() + "/timeline.jsonl")
        << R"({"event":"header","format":"aoti-dbg-timeline","version":1,"pid":4242,"source":"cupti","library":"0.1.0"})"
        << "\n"
        << R"({"event":"span","seq":2,"kernel":"k","kind":"kernel","start_ns":100,"end_ns":350,"device":0,"stream":"0x7"})"
        << "\n{\"event\":\"span\",\"seq\":2,\"start_ns\":400,\"end_ns\":450}\nnot JSON\n"
        << R"({"event":"span","seq":9,"start_ns":1,"end_ns":2})"
        << "\n";
    const Json data = recording.data();
    CHECK(test::column(data["rows"]["device_ns"]) == std::vector<std::int64_t>{0, 300, 0});
    CHECK(data["kernels"][1]["time"] == "device");
    CHECK(data["kernels"][1]["time_ns"] == 300);
    CHECK(data["kernels"][0]["time"] == "host");
}

TEST_CASE("Hostile names are text in the page, and damaged lines are counted") {
    const Recording recording;
    const std::string evil = R"(</script><script>alert(1)</script>)";
    recording.write(
        std::string(kHeader) + R"({"event":"model","model":0,"name":")" + evil + R"(","path":"/tmp/x"})" +
        "\n{\"event\":\"call\",\"side\":\"after\",\"kernel\":\"" + evil +
        "\xFF\",\"run\":0,\"call\":0,\"model\":0,\"seq\":1,\"arguments\":[{\"label\":\"<img onerror=x>\","
        "\"value\":\"<b>\"}]}\nnot JSON\n" +
        R"({"event":"call","side":"after","kernel":"k","run":0,"call":1,"model":0,"seq":2})" + "\n");
    Page read = recording.page();
    const std::string page = page_with(page_json(read, kMuch));
    const Json data = test::data_in(page);
    REQUIRE(data.is_object());
    CHECK(page.find("<script>alert") == std::string::npos);
    CHECK(page.find("<img onerror") == std::string::npos);
    CHECK(data["models"][0]["name"] == evil);
    CHECK(test::kernels_of_rows(data) == std::vector<std::string>{evil + "\xEF\xBF\xBD", "k"});
    CHECK(data["processes"][0]["notes"][0] == "events.jsonl: 1 damaged line, the first is line 4");
    CHECK(data["processes"][0]["rank"] == "3");
}

TEST_CASE("A confidential page has hashes, shapes and names only") {
    const Recording recording;
    std::string text = kHeader;
    JsonlRenderer renderer;
    JsonlRenderer::render_model({0, "/home/me/secret/model.so", "model"}, text);
    const std::vector<float> values(24, 1234.5F);
    const test::HeldTensor tensor(DType::float32, {24}, values);
    const test::HeldTensor tiny(DType::float32, {2}, std::vector<float>{1.5F, 1234.5F});
    const ArgumentFacts label = test::label_of("buf0");
    const ArgumentFacts label_of_tiny = test::label_of("buf1");
    const ArgumentFacts scalar = test::label_of("alpha");
    SiteFacts site = test::site_of("triton_poi_fused_0");
    site.python_stack = {"secret.py:3 in forward: x"};
    for (const std::uint32_t run : {0U, 1U}) {
        const std::vector<MeasuredArgument> arguments = {
            tensor.measured(label, Requested::printed | Requested::hash),
            tiny.measured(label_of_tiny, Requested::printed | Requested::hash),
            test::scalar_of(scalar, "\"password\"")};
        MeasuredCall event = test::call_of(EventSide::after, &site, arguments);
        event.run = run;
        event.sequence = run + 1;
        renderer.render(event, text);
    }
    recording.write(text);
    Page all = recording.page();
    Page few = recording.page(true);
    const std::string open = page_json(all, kMuch);
    const std::string closed = page_json(few, kMuch);
    for (const char* secret : {"1234.5", "password", "secret", "infer.py", "node7", "/home/me"}) {
        CAPTURE(secret);
        CHECK(open.find(secret) != std::string::npos);
        CHECK(closed.find(secret) == std::string::npos);
    }
    const Json data = Json::parse(closed);
    CHECK(data["confidential"] == true);
    const Json& shown = data["details"][0]["after"][0];
    CHECK(data["layouts"][0] == Json::array({0, {24}, "cpu"}));
    CHECK(shown.size() == 11);
    CHECK(shown[2].is_null());
    CHECK(shown[10].get<std::string>().size() == 16);
    // Its contents could be found by trying.
    CHECK(data["details"][0]["after"][1].size() == 6);
}

TEST_CASE("A row shows the run of a finding that was recorded before the call") {
    const Recording recording;
    std::string text = kHeader;
    JsonlRenderer renderer;
    const test::HeldTensor tensor(DType::float32, {2}, std::vector<float>{1.5F, 2.5F});
    const ArgumentFacts label = test::label_of("buf0");
    const SiteFacts first = test::site_of("cpp_fused_0");
    const SiteFacts second = test::site_of("aoti_torch_cpu_mm_out");
    for (std::uint32_t run = 0; run < 4; ++run)
        for (const std::uint32_t call : {0U, 1U}) {
            if (run == call) {
                Finding finding;
                finding.kind = Finding::Kind::argument;
                finding.check = "result";
                finding.kernel = call == 0 ? first.kernel : second.kernel;
                finding.model = 0;
                finding.run = run;
                finding.call = call;
                append_finding_json(finding, text);
            }
            const std::vector<MeasuredArgument> arguments = {tensor.measured(label)};
            MeasuredCall event = test::call_of(EventSide::after, call == 0 ? &first : &second, arguments);
            event.model = 0;
            event.run = run;
            event.call = call;
            event.sequence = 2 * run + call + 1;
            renderer.render(event, text);
        }
    recording.write(text);
    const Json data = recording.data();
    CHECK(test::column(data["rows"]["run"]) == std::vector<std::int64_t>{0, 1});
    CHECK(test::column(data["rows"]["flags"]) == std::vector<std::int64_t>{4, 4});
    CHECK(data["kernels"][1]["findings"] == 1);
    CHECK(!data["findings"][0]["tensor"].contains("what"));
    CHECK(recording.data(true)["findings"][1]["sentence"] == "wrong result at aoti_torch_cpu_mm_out");
}

TEST_CASE("A difference is linked to the row of its model, once") {
    const Recording first;
    const Recording second;
    for (const Recording* recording : {&first, &second}) {
        std::string text = kHeader;
        JsonlRenderer renderer;
        const ArgumentFacts label = test::label_of("buf0");
        const SiteFacts site = test::site_of("aoti_torch_cpu_mm_out");
        for (std::uint32_t run = 0; run < 4; ++run) {
            const bool is_other = recording == &second && run % 2 == 1;
            const test::HeldTensor tensor(DType::float32, {2},
                                          std::vector<float>{1.5F, is_other ? 3.5F : 2.5F});
            const std::vector<MeasuredArgument> arguments = {
                tensor.measured(label, Requested::printed | Requested::hash)};
            MeasuredCall event = test::call_of(EventSide::after, &site, arguments);
            event.model = run % 2;
            event.run = run;
            event.call = 0;
            event.sequence = run + 1;
            renderer.render(event, text);
        }
        recording->write(text);
    }
    Page page = second.page();
    REQUIRE(add_diff(first.folder(), second.folder(), page));
    CHECK(page.diff.sentence.starts_with("different"));
    REQUIRE(page.diff.rows.size() == 1);
    const PageSite& site = page.rows.sites[page.rows.rows[page.diff.rows.front().first].site];
    CHECK(page.rows.models[site.model].number == 1);
}

TEST_CASE("A page without findings says in how many rows NaN are") {
    const Recording recording;
    std::string text = kHeader;
    JsonlRenderer renderer;
    const test::HeldTensor tensor(DType::float32, {2}, std::vector<float>{1.5F, __builtin_nanf("")});
    const ArgumentFacts label = test::label_of("buf0");
    const SiteFacts site = test::site_of("k");
    const std::vector<MeasuredArgument> arguments = {tensor.measured(label)};
    renderer.render(test::call_of(EventSide::after, &site, arguments), text);
    recording.write(text);
    const Json verdict = recording.data()["verdict"];
    CHECK(verdict["state"] == "clean");
    // There is no ring that says how often a model ran.
    CHECK(verdict["sentence"] == "no finding in 1 run with 1 call; NaN in 1 row of the table");
}

TEST_CASE("A finding has a command for a shell, or none") {
    const auto repeat = [](const std::string& command, const std::string& kind) {
        std::string text =
            R"({"event":"header","format":"aoti-dbg-events","version":1,"pid":4242,"command":")";
        text += command +
                "\"}\n"
                R"({"event":"site","id":1,"kernel":"k","symbol":"","kind":")" +
                kind + "\"}\n";
        text +=
            R"({"event":"call","side":"after","kernel":"k","site":1,"run":0,"call":1,"model":0,"seq":1,"arguments":[]})"
            "\n";
        Finding finding;
        finding.kernel = "k";
        finding.model = 0;
        finding.run = 0;
        finding.call = 1;
        append_finding_json(finding, text);
        const Recording recording;
        recording.write(text);
        const Json data = recording.data();
        REQUIRE(data["findings"].size() == 1);
        return data["findings"][0].value("repeat", "");
    };
    CHECK(repeat("python infer.py", "triton") == "aoti-dbg run --capture k@0:1 -- python infer.py");
    // What C++ kernels do cannot be captured.
    CHECK(repeat("python infer.py", "cpp_kernel") == "aoti-dbg run --level 2 --check nan -- python infer.py");
    CHECK(repeat("python -c print(1);x", "triton").empty());
}

TEST_CASE("A page follows no link out of the folder") {
    const Recording recording;
    const std::string outside = (recording.temporary.path() / "outside.jsonl").string();
    std::ofstream(outside) << kHeader;
    fs::create_symlink(outside, recording.folder() + "/events.jsonl");
    CHECK(!read_page({recording.folder(), recording.folder(), false}).ok());
    const Result<RecordedFolder> folder = RecordedFolder::open(recording.folder());
    REQUIRE(folder.ok());
    CHECK(!folder.value().has(recording.folder() + "/events.jsonl"));
    CHECK(!folder.value().has(recording.folder() + "/../outside.jsonl"));
    CHECK(!read_page({recording.folder() + "/missing", "", false}).ok());
}

TEST_CASE("Any bytes make a page") {
    Random random(11);
    const std::string whole = many_calls(40);
    for (int round = 0; round < 60; ++round) {
        const Recording recording;
        std::string text = whole;
        for (std::uint64_t i = random.below(20) + 1; i > 0; --i)
            text[random.below(text.size())] = static_cast<char>(random.below(256));
        recording.write(text.substr(0, random.below(text.size())));
        Result<Page> page = read_page({recording.folder(), recording.folder(), round % 2 == 0});
        if (page.ok()) CHECK(Json::parse(page_json(page.value(), kMuch), nullptr, false).is_object());
    }
}

}  // namespace
}  // namespace aoti_dbg::cli::page_json_test
