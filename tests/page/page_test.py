"""What the page of `aoti-dbg report --html` shows and how a reader moves in it, in a real browser."""

from __future__ import annotations

import page_data
from page_case import CALLS, SELECTED, PageCase, run_tests
from selenium.webdriver.common.keys import Keys


class Page(PageCase):
    def test_strings_that_would_break_a_page_do_nothing(self):
        self.browser.open(self.page("hostile"), "#row=0")
        for tab in ("kernels", "processes", "calls"):
            self.browser.one(f"#tab-{tab}").click()
        self.browser.wait(lambda: self.kernels(), "calls")
        self.assertIsNone(self.browser.run("return window.broken ?? null"))
        self.assertEqual(self.browser.run("return document.scripts.length"), 2)
        self.assertEqual(self.browser.all("img, iframe, object, [onerror]"), [])
        title = self.browser.one("#title").text
        self.assertIn('</script><script>window.broken=1</script><img src=x onerror="window.broken=1">', title)
        self.assertNotIn("\u202e", title)
        # Only what lies in the folder becomes a link.
        links = [link.get_dom_attribute("href") for link in self.browser.all("#pane .plain a")]
        self.assertEqual(links[-2:], ["./javascript%3Awindow.broken%3D1", "./a%20b/%23%3F%25.pt"])

    def test_members_may_be_absent(self):
        whole = page_data.example(2, 4)
        cases = [{}, {"format": "aoti-dbg-page"}] + [{**whole, name: None} for name in whole if name != "format"]
        cases.append({name: [None, *value[1:]] if isinstance(value, list) else value for name, value in whole.items()})
        for number, data in enumerate(cases):
            self.browser.open(self.page(f"absent{number}", data), "#row=3")
            self.assertTrue(self.browser.one("#verdict h2").text)
        damaged = self.folder / "damaged.html"
        damaged.write_text(self.template.replace("__DATA__", '{"format":'), encoding="utf-8")
        self.browser.open(damaged)
        self.assertIn("damaged", self.browser.one("#notices").text)

    def test_models_of_one_name_have_different_labels(self):
        data = page_data.example(2, 4)
        data["models"].append({**data["models"][0], "number": 1})
        self.browser.open(self.page("two_models", data), "#row=3")
        options = [option.get_attribute("textContent") for option in self.browser.all("[data-choice=model] option")]
        self.assertEqual(options, ["All models", "0 · model", "1 · model"])
        self.assertIn("model 0 model", self.browser.one("#pane .pane-head").text)

    def test_verdict_findings_and_comparison_come_first(self):
        self.browser.open(self.page("two_ranks"))
        self.assertIn("made it in run 3", self.browser.one("#verdict").text)
        finding = self.browser.one(".finding").text
        for words in ("AD1102", "line 409", "buf13", "rank 0", "triton_red_fused__softmax_log_3 (call 13)", "aoti-dbg replay", "12 times"):
            self.assertIn(words, finding)
        self.assertIn("The recordings part at call 9", self.browser.one("#diff").text)
        self.assertIn("statistics of 20,000 calls", self.browser.one("#notices").text)
        self.assertIn("3 damaged lines", self.browser.one("#notices").text)
        order = self.browser.run("return [...document.querySelectorAll('#diff, #verdict, #findings, #workspace')].map(e => e.id)")
        self.assertEqual(order, ["diff", "verdict", "findings", "workspace"])
        self.browser.one("#diff a").click()
        self.assertIn("expected mean 0.25, got 0.31", self.browser.one("#pane").text)

    def test_the_pane_shows_what_is_known_of_a_call(self):
        self.browser.open(self.page("example"), "#row=12")
        pane = self.browser.one("#pane")
        self.assertIn("call_triton_poi_fused_add_gelu_2(buf11", self.browser.one(".source .here").text)
        for words in ("aten.gelu", "gelu_1", "net.py:13 in forward", "layers.1.weight", "in_ptr0", "float32 [8, 512] cuda:0", "= 4096",
                      "both", "The same in all 40 runs: l1_weight after"):
            self.assertIn(words, pane.text)
        self.assertEqual(len(self.browser.all("#pane .chart-line")), 1)
        self.assertGreater(len(self.browser.all("#pane .chart-bar")), 10)
        links = {link.text: link.get_dom_attribute("href") for link in self.browser.all("#pane a")}
        self.assertEqual(links["tensors/run1/0012 buf.pt"], "./tensors/run1/0012%20buf.pt")
        self.assertEqual(links["launches/0012/launch.json"], "./launches/0012/launch.json")
        self.assertEqual(links["triton_red_fused__softmax_log_3 (call 13)"], "#row=13")
        next(link for link in self.browser.all("#pane a") if "(call 13)" in link.text).click()
        self.browser.wait(lambda: "row=13" in self.browser.run("return location.hash"), "the address of the reader of buf12")
        self.assertIn("NaN in 20 of 40 runs, first in run 21", pane.text)
        self.browser.driver.back()
        self.browser.wait(lambda: "(buf11" in self.browser.one(".source .here").text, "the call before")

    def test_a_call_without_details_has_the_numbers_of_one_tensor(self):
        self.browser.open(self.page("main_tensors"), "#row=12")
        selected = self.browser.one(SELECTED)
        self.assertEqual([selected.find_element("css selector", f".of-after-{name}").text for name in ("mean", "max", "nan")], ["0.5", "–", "0"])
        self.assertEqual(selected.find_element("css selector", ".of-before-mean").text, "")
        self.assertEqual(self.browser.texts("#pane .arguments td"), ["", "after", "0.5", "1", "-Inf", "–", "–", "0", "0"])

    def test_search_and_filters(self):
        self.browser.open(self.page("two_ranks"))
        self.browser.one("#search").send_keys("soft")
        self.assertEqual(self.shown(), "12 of 96 distinct calls")
        search = self.browser.one("#search")
        for query, expected in [("softmax", 12), ("LAYERS.2.WEIGHT", 16), ("op:gelu rank", 0), ("op:gelu", 12), ("node:linear_3", 2),
                                ("net.py:14", 16), ("call:13", 2), ("line:409", 2), ("buf13 softmax", 2), ("kernel:", 96), ("nothing-like-this", 0)]:
            self.browser.run("arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))", search, query)
            found = f"{expected} of 96 distinct calls"
            self.assertEqual(self.shown(), found, query)
            self.assertEqual(self.browser.one("#no-calls").is_displayed(), expected == 0)
        self.browser.one("#clear").click()
        self.assertEqual(self.shown(), "96 distinct calls")
        for selector, expected in [("[data-filter=finding]", 2), ("[data-filter=differs]", 1), ("[data-filter=nan]", 70)]:
            self.browser.one(selector).click()
            self.assertEqual(self.shown(), f"{expected} of 96 distinct calls")
            self.browser.one(selector).click()
        for choice, option, expected in [("kind", "triton", 48), ("process", "1", 48), ("kernel", "0", 12)]:
            self.browser.one(f"[data-choice={choice}] option[value='{option}']").click()
            self.assertEqual(self.shown(), f"{expected} of 96 distinct calls")
            self.browser.one("#clear").click()

    def test_each_column_sorts_both_ways(self):
        self.browser.open(self.page("example"))
        self.browser.keys(Keys.ESCAPE)
        time = "[data-column=time]"
        data = page_data.example()
        times = data["rows"]["device_ns"]
        self.browser.one(time).click()
        self.assertEqual(self.calls()[0], str(times.index(max(times))))
        self.browser.one(time).click()
        self.assertEqual(self.calls()[0], str(times.index(min(times))))
        self.browser.one(time).click()
        self.assertEqual(self.calls()[:3], ["0", "1", "2"])
        self.browser.one("[data-column=kernel]").click()
        self.assertEqual(self.kernels(), sorted(self.kernels()))
        self.assertEqual(self.browser.one("[aria-sort=ascending]").text, "Kernel ↑")
        # Unknown values come last in both directions.
        for _ in range(2):
            self.browser.one("[data-column=after-mean]").click()
            self.assertNotIn("NaN", self.browser.texts(f"{CALLS} .of-after-mean")[:10])

    def test_the_keyboard_reaches_everything(self):
        self.browser.open(self.page("example"), "#row=0")
        self.browser.keys("/")
        self.assertEqual(self.browser.driver.switch_to.active_element.get_attribute("id"), "search")
        self.browser.keys("softmax")
        self.browser.keys(Keys.ENTER)
        self.assertEqual(self.browser.one(f"{SELECTED} .of-call").text, "5")
        self.browser.keys("j")
        self.browser.keys(Keys.ARROW_DOWN)
        self.browser.keys("k")
        self.assertEqual(self.browser.one(f"{SELECTED} .of-call").text, "13")
        self.assertEqual(self.browser.one("#grid").get_attribute("aria-activedescendant"), self.browser.one(SELECTED).get_attribute("id"))
        self.browser.keys(Keys.END)
        self.assertEqual(self.browser.one(f"{SELECTED} .of-call").text, "45")
        self.browser.keys(Keys.ENTER)
        self.assertEqual(self.browser.driver.switch_to.active_element.get_attribute("id"), "pane")
        self.browser.keys(Keys.ESCAPE)
        self.assertEqual(self.browser.driver.switch_to.active_element.get_attribute("id"), "grid")
        self.browser.keys("?")
        self.assertTrue(self.browser.one("#help").is_displayed())
        self.browser.keys(Keys.ESCAPE)
        self.assertFalse(self.browser.one("#help").is_displayed())
        self.browser.keys(Keys.ESCAPE)
        self.assertFalse(self.browser.one("#pane").is_displayed())
        self.browser.one("#tab-calls").send_keys(Keys.ARROW_RIGHT)
        self.assertEqual(self.browser.driver.switch_to.active_element.get_attribute("id"), "tab-kernels")
        self.assertTrue(self.browser.one("#panel-kernels").is_displayed())

    def test_the_address_keeps_the_selection(self):
        self.browser.open(self.page("two_ranks"))
        self.browser.one("#search").send_keys("gelu")
        self.browser.one("[data-filter=nan]").click()
        self.browser.one("[data-choice=process] option[value='1']").click()
        self.browser.one("[data-column=time]").click()
        self.browser.all(CALLS)[2].click()
        row = self.browser.one(SELECTED).get_attribute("data-row")
        self.browser.wait(lambda: f"row={row}" in self.browser.run("return location.hash"), "the address")
        shown, calls = self.shown(), self.calls()
        self.browser.open(self.page("two_ranks"), self.browser.run("return location.hash"))
        self.assertEqual((self.shown(), self.calls()), (shown, calls))
        self.assertEqual(self.browser.one(SELECTED).get_attribute("data-row"), row)

    def test_kernels_and_processes(self):
        self.browser.open(self.page("two_ranks"), "#tab=kernels")
        self.assertEqual(len(self.browser.all("#panel-kernels tbody tr")), 8)
        self.browser.one("[data-column=findings]").click()
        self.assertIn("softmax", self.browser.texts("#panel-kernels tbody td")[0])
        self.browser.one("#panel-kernels tbody button").click()
        self.assertEqual(self.shown(), "12 of 96 distinct calls")
        self.browser.one("#tab-processes").click()
        self.browser.all("#panel-processes tbody button")[1].click()
        self.assertEqual(self.shown(), "48 of 96 distinct calls")

    def test_a_command_is_copied(self):
        self.browser.open(self.page("example"))
        self.browser.driver.execute_cdp_cmd("Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
        self.browser.one("#verdict .copy").click()
        self.browser.wait(lambda: self.browser.one("#status").get_attribute("textContent") == "Copied", "the copy")
        copied = self.browser.driver.execute_async_script("navigator.clipboard.readText().then(arguments[0], arguments[0])")
        self.assertEqual(copied, page_data.example()["verdict"]["repeat"][0])

    def test_a_confidential_page_says_so(self):
        self.browser.open(self.page("confidential"), "#row=12")
        self.assertIn("It leaves out all other values and statistics", self.browser.one("#notices").text)
        self.assertIn("fc4992d34e73306b", self.browser.one("#pane").text)


if __name__ == "__main__":
    run_tests()
