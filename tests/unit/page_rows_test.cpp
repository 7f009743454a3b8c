// The rows of a page: calls of many runs in one row, statistics over runs, and who wrote what a call reads.
#include <algorithm>
#include <deque>
#include <limits>

#include "cli/page/page_rows.hpp"
#include "cli/page/row_links.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/event_fixture.hpp"

namespace aoti_dbg::cli::page_rows_test {
namespace {

using test::HeldTensor;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// A model whose calls take tensors at chosen addresses.
class Model {
  public:
    ArgumentFacts& argument(const std::string& label, Role role) {
        ArgumentFacts& facts = arguments_.emplace_back(test::label_of(label));
        facts.role = role;
        return facts;
    }
    SiteFacts& site(const std::string& kernel) { return sites_.emplace_back(test::site_of(kernel)); }

    struct Passed {
        const ArgumentFacts* facts;
        std::uint64_t address;
        std::vector<float> values;
    };

    void side(EventSide side, const SiteFacts* site, std::uint32_t run, std::uint32_t call,
              const std::vector<Passed>& passed) {
        std::vector<MeasuredArgument> arguments;
        for (const Passed& one : passed) {
            const auto count = static_cast<std::int64_t>(one.values.size());
            HeldTensor& tensor = tensors_.emplace_back(DType::float32, std::vector{count}, one.values);
            arguments.push_back(tensor.measured(*one.facts));
            arguments.back().address = one.address;
        }
        MeasuredCall event = test::call_of(side, site, arguments);
        event.model = 0;
        event.run = run;
        event.call = call;
        event.sequence = 100 * run + (call == kNoCallNumber ? 0 : call + 1);
        event.time_ns = 1'000'000 * event.sequence + (side == EventSide::after ? 500 + run : 0);
        rows.add(event);
    }
    void inputs(std::uint32_t run, const std::vector<Passed>& passed) {
        side(EventSide::inputs, nullptr, run, kNoCallNumber, passed);
    }

    PageRows rows;

  private:
    std::deque<ArgumentFacts> arguments_;
    std::deque<SiteFacts> sites_;
    std::deque<HeldTensor> tensors_;
};

TEST_CASE("The runs of a call are one row, which shows the last of them") {
    Model model;
    model.rows.begin_process(0);
    const ArgumentFacts& out = model.argument("buf0", Role::writes);
    const SiteFacts& site = model.site("triton_poi_0");
    for (std::uint32_t run = 0; run < 3; ++run) {
        model.side(EventSide::before, &site, run, 4, {});
        model.side(EventSide::after, &site, run, 4, {{&out, 0x1000, {1, 5, 3 * static_cast<float>(run)}}});
    }
    model.rows.finish();
    REQUIRE(model.rows.rows.size() == 1);
    const PageRow& row = model.rows.rows.front();
    CHECK(row.runs == 3);
    CHECK(row.run == 2);
    CHECK(row.call == 4);
    CHECK(row.flags == 0);
    CHECK(row.bytes == 12);
    CHECK(row.host.median() == 501);
    REQUIRE(row.after.size() == 1);
    CHECK(row.after.front().maximum == 6);
    CHECK(row.after.front().mean == 4);
    CHECK(model.rows.kernels.front().count == 3);
    CHECK(model.rows.kernels.front().bytes == 36);
    REQUIRE(row.series != nullptr);
    CHECK(row.series->runs() == std::vector<std::uint32_t>{0, 1, 2});
    CHECK(row.series->points()[1].mean == 3);
}

TEST_CASE("A row shows the first run with NaN in a result") {
    Model model;
    model.rows.begin_process(0);
    const ArgumentFacts& out = model.argument("buf0", Role::writes);
    const SiteFacts& site = model.site("triton_poi_0");
    for (std::uint32_t run = 0; run < 5; ++run) {
        model.side(EventSide::before, &site, run, 0, {{&out, 0x1000, {kNan}}});
        model.side(EventSide::after, &site, run, 0, {{&out, 0x1000, {run == 2 || run == 3 ? kNan : 1}}});
    }
    const PageRow& row = model.rows.rows.front();
    CHECK(row.runs == 5);
    CHECK(row.run == 2);
    CHECK(row.flags == kHasNan);
    CHECK(row.after.front().nan == 1);
    // The memory that the call only writes is not shown before it.
    CHECK(!row.before.front().is_measured);
    REQUIRE(row.series != nullptr);
    CHECK(row.series->runs().size() == 5);
}

TEST_CASE("A finding in the shown run keeps the row at this run") {
    Model model;
    model.rows.begin_process(0);
    const SiteFacts& site = model.site("triton_poi_0");
    for (std::uint32_t run = 0; run < 4; ++run) {
        model.side(EventSide::before, &site, run, 7, {});
        if (run == 1) model.rows.add_finding(model.rows.find(0, 7, "triton_poi_0"), 1);
    }
    CHECK(model.rows.rows.front().run == 1);
    CHECK(model.rows.rows.front().runs == 4);
    CHECK(model.rows.rows.front().flags == (kHasFinding | kNothingMeasured));
    CHECK(model.rows.kernels.front().findings == 1);
    CHECK(model.rows.find(0, 7, "other") == kNoIndex32);
    CHECK(model.rows.find(1, 7, "triton_poi_0") == kNoIndex32);
}

TEST_CASE("Threads that run a model at the same time count each call once") {
    Model model;
    model.rows.begin_process(0);
    const ArgumentFacts& out = model.argument("buf0", Role::writes);
    const SiteFacts& site = model.site("triton_poi_0");
    model.side(EventSide::before, &site, 0, 0, {});
    model.side(EventSide::before, &site, 1, 0, {});
    model.side(EventSide::after, &site, 0, 0, {{&out, 0x1000, {1}}});
    model.side(EventSide::after, &site, 1, 0, {{&out, 0x2000, {2}}});
    CHECK(model.rows.rows.front().runs == 2);
    CHECK(model.rows.rows.front().after.front().mean == 2);
}

TEST_CASE("Calls of other kernels, models and processes have rows of their own") {
    Model model;
    model.rows.begin_process(0);
    const SiteFacts& one = model.site("one");
    const SiteFacts& other = model.site("other");
    model.side(EventSide::before, &one, 0, 0, {});
    model.side(EventSide::before, &other, 1, 0, {});  // another branch
    model.rows.begin_process(1);
    model.side(EventSide::before, &one, 0, 0, {});
    REQUIRE(model.rows.rows.size() == 3);
    CHECK(model.rows.rows[2].process == 1);
    CHECK(model.rows.models.size() == 2);
    CHECK(model.rows.kernels.size() == 2);
}

TEST_CASE("The writer of a tensor is found by its memory, under any name") {
    Model model;
    model.rows.begin_process(0);
    const ArgumentFacts& input = model.argument("arg0_1", Role::unknown);
    const ArgumentFacts& reads_input = model.argument("arg0_1", Role::reads);
    const ArgumentFacts& buf0 = model.argument("buf0", Role::writes);
    const ArgumentFacts& view = model.argument("reinterpret_tensor(buf0)", Role::reads);
    const ArgumentFacts& buf1 = model.argument("buf1", Role::writes);
    const ArgumentFacts& last = model.argument("buf0", Role::reads);
    const SiteFacts& first = model.site("first");
    const SiteFacts& second = model.site("second");
    const SiteFacts& third = model.site("third");
    model.inputs(0, {{&input, 0x1000, {1, 2}}});
    model.side(EventSide::before, &first, 0, 0, {{&reads_input, 0x1000, {1, 2}}});
    model.side(EventSide::after, &first, 0, 0, {{&buf0, 0x2000, {1, 2, 3, 4}}});
    // A view of the second half, and then the first half is written again.
    model.side(EventSide::before, &second, 0, 1, {{&view, 0x2008, {3, 4}}});
    model.side(EventSide::after, &second, 0, 1, {{&buf1, 0x2000, {5, 6}}});
    model.side(EventSide::before, &third, 0, 2, {{&last, 0x2000, {5, 6, 3, 4}}});
    const std::vector<std::uint32_t> order = order_of_rows(model.rows);
    CHECK(order == std::vector<std::uint32_t>{0, 1, 2, 3});
    const RowLinks links = links_between(model.rows, order);

    CHECK(links.to(0).empty());
    REQUIRE(links.to(1).size() == 1);
    CHECK(links.to(1)[0].writer == 0);
    REQUIRE(links.to(2).size() == 1);
    CHECK(links.to(2)[0].writer == 1);
    // Two calls wrote what the third reads. The later one comes last.
    REQUIRE(links.to(3).size() == 2);
    CHECK(links.to(3)[0].writer == 1);
    CHECK(links.to(3)[1].writer == 2);
    REQUIRE(links.from(1).size() == 2);
    CHECK(links.from(1)[0].reader == 2);
    CHECK(links.from(1)[1].reader == 3);
}

TEST_CASE("The outputs of a run are linked to the calls that wrote them") {
    Model model;
    model.rows.begin_process(0);
    const ArgumentFacts& input = model.argument("arg0_1", Role::reads);
    const ArgumentFacts& buf0 = model.argument("buf0", Role::writes);
    const ArgumentFacts& output = model.argument("buf0", Role::makes);
    const SiteFacts& site = model.site("first");
    for (const std::uint64_t run : {0U, 1U}) {
        model.inputs(static_cast<std::uint32_t>(run), {{&input, 0x1000 + run * 0x100, {1}}});
        if (run == 1) break;  // it fails
        model.side(EventSide::before, &site, 0, 0, {{&input, 0x1000, {1}}});
        model.side(EventSide::after, &site, 0, 0, {{&buf0, 0x2000, {2}}});
        model.side(EventSide::outputs, nullptr, 0, kNoCallNumber, {{&output, 0x2000, {2}}});
    }
    const std::vector<std::uint32_t> order = order_of_rows(model.rows);
    const RowLinks links = links_between(model.rows, order);
    REQUIRE(links.to(2).size() == 1);
    CHECK(links.to(2)[0].writer == 1);
    // The inputs of the last run are elsewhere.
    REQUIRE(links.to(1).size() == 1);
    CHECK(links.to(1)[0].writer == 0);
}

TEST_CASE("A series of many runs keeps few of them, at equal distances") {
    RowSeries series;
    const std::size_t most = 8;
    for (std::uint32_t run = 0; run < 1000; ++run)
        if (series.wants(most)) series.add(run, {{static_cast<double>(run), 0, 0, 0, 0, true}});
    REQUIRE(series.runs().size() <= most);
    REQUIRE(series.runs().size() > most / 2 - 1);
    const std::uint32_t step = series.runs()[1];
    for (std::size_t i = 0; i < series.runs().size(); ++i) {
        CHECK(series.runs()[i] == i * step);
        CHECK(series.points()[i].mean == series.runs()[i]);
    }
}

TEST_CASE("The series of a call has what it writes, wherever that is among the arguments") {
    PageSite site;
    std::vector<RowTensor> tensors(5);
    for (std::uint16_t i = 0; i < tensors.size(); ++i) {
        site.arguments.push_back({"buf" + std::to_string(i), "", "", i < 4 ? Role::reads : Role::writes, i});
        tensors[i].argument = i;
    }
    CHECK(series_tensors(site, tensors) == std::vector<std::size_t>{4, 0, 1});
    CHECK(series_tensors(site, {}).empty());
}

TEST_CASE("The median of many times is that of a few of them") {
    Samples samples;
    CHECK(samples.median() == 0);
    samples.add(7);
    CHECK(samples.median() == 7);
    for (int i = 0; i < 1000; ++i)
        samples.add(i % 2 == 0 ? 10 : 20);
    CHECK(samples.median() >= 7);
    CHECK(samples.median() <= 20);
    CHECK(samples.count() == 1001);
}

TEST_CASE("Device times are added up by the call that launched the kernels") {
    Model model;
    model.rows.begin_process(0);
    model.rows.keep_sequences();
    const SiteFacts& site = model.site("triton_poi_0");
    model.side(EventSide::before, &site, 0, 0, {});
    model.side(EventSide::before, &site, 1, 0, {});
    REQUIRE(model.rows.sequences.size() == 2);
    model.rows.sequences[0].device_ns = 300;
    model.rows.sequences[1].device_ns = 500;
    model.rows.finish_sequences();
    CHECK(model.rows.rows.front().device.median() == 300);
    CHECK(model.rows.kernels.front().time_ns == 800);
    CHECK(model.rows.kernels.front().is_device_time);
}

}  // namespace
}  // namespace aoti_dbg::cli::page_rows_test
