"""The page on desktop, phone and paper, light and dark, for everyone, with many calls, and without a request."""

from __future__ import annotations

import pathlib

from browser import DESKTOP, PHONE
from page_case import CALLS, PageCase, run_tests
from selenium.webdriver.common.keys import Keys

def axe_source() -> str:
    import axe_playwright_python

    return (pathlib.Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


class Screen(PageCase):
    def test_a_hundred_thousand_calls(self):
        self.browser.open(self.page("large"))
        paint = self.browser.wait(lambda: self.browser.run(
            "return performance.getEntriesByName('first-contentful-paint')[0]?.startTime"), "the first paint")
        ready = self.browser.run("return performance.timing.loadEventEnd - performance.timing.navigationStart")
        self.assertEqual(self.shown(), "100,000 distinct calls")
        self.assertLess(len(self.browser.all("#grid-body [role=row]")), 80)
        self.browser.one("#grid").send_keys(Keys.END)
        self.browser.frame()
        self.assertEqual(self.calls()[-1], "99999")
        timed = "const start = performance.now(); {}; return performance.now() - start"
        typing = [self.browser.run(timed.format(
            f"const s = document.getElementById('search'); s.value = '{query}'; s.dispatchEvent(new Event('input'))"))
            for query in ("s", "so", "soft", "softmax", "softmax buf13")]
        self.assertEqual(self.shown(), "2,084 of 100,000 distinct calls")
        sorting = self.browser.run(timed.format("document.getElementById('clear').click(); document.querySelector('[data-column=kernel]').click()"))
        print(f"\n100,000 calls: first paint {paint:.0f} ms, loaded {ready:.0f} ms, a key of a search at most {max(typing):.0f} ms, "
              f"sorting {sorting:.0f} ms, page {self.page('large').stat().st_size / 1e6:.1f} MB")

    def test_a_phone_shows_one_column(self):
        for size in ((360, 640), PHONE):
            self.browser.open(self.page("two_ranks"), size=size)
            self.assertLessEqual(self.browser.run("return document.documentElement.scrollWidth"), size[0])
            self.assertFalse(self.browser.one("#pane").is_displayed())
            self.browser.run("document.getElementById('grid').scrollIntoView()")
            self.browser.frame()
            self.browser.all(CALLS)[3].click()
            self.assertEqual(self.browser.run("return document.getElementById('pane').getBoundingClientRect().width"), size[0])
            self.assertLessEqual(self.browser.run("return document.getElementById('pane').scrollWidth"), size[0])
            self.browser.one("[aria-label='Close the details']").click()
            self.assertFalse(self.browser.one("#pane").is_displayed())
        self.browser.one("#sort-choice option[value='-time']").click()
        self.assertEqual(self.browser.one("#sort-choice").get_attribute("value"), "-time")

    def test_dark_and_light(self):
        colors = {}
        for scheme in ("light", "dark"):
            self.browser.open(self.page("example"), scheme=scheme)
            colors[scheme] = self.browser.run("const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]")
        brightness = {scheme: [sum(map(int, color[4:-1].split(","))) for color in pair] for scheme, pair in colors.items()}
        self.assertGreater(brightness["light"][0], brightness["light"][1])
        self.assertLess(brightness["dark"][0], brightness["dark"][1])

    def test_reduced_motion_stops_transitions(self):
        self.browser.open(self.page("example"), motion="reduce")
        self.assertEqual(self.browser.run("return getComputedStyle(document.querySelector('.toggle')).transitionDuration"), "0s")

    def test_paper_shows_the_calls_of_the_selection(self):
        self.browser.open(self.page("example"), "#q=softmax")
        self.browser.run("dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(len(self.browser.all("#print-calls tbody tr")), 6)
        self.browser.run("dispatchEvent(new Event('afterprint'))")
        self.assertEqual(self.browser.all("#print-calls *"), [])
        self.assertTrue(self.browser.driver.print_page())

    def test_axe_has_no_serious_violation(self):
        source = axe_source()
        for fragment, size, scheme in [("#row=13", DESKTOP, "light"), ("#row=13", DESKTOP, "dark"), ("#tab=kernels", DESKTOP, "light"),
                                       ("#tab=processes", DESKTOP, "dark"), ("", PHONE, "light"), ("#row=13", PHONE, "dark")]:
            self.browser.open(self.page("two_ranks"), fragment, size=size, scheme=scheme)
            self.assertEqual(self.browser.axe(source), [], f"{fragment}, {size}, {scheme}")


    def test_the_browser_notices_a_request(self):
        careless = self.folder / "careless.html"
        picture = '<img src="http://127.0.0.1:9/x.png"><script>window.aotiDbgPage = 1</script>'
        careless.write_text(f"<!doctype html>{picture}", encoding="utf-8")
        self.browser.open(careless)
        self.assertEqual(self.browser.requests(), ["http://127.0.0.1:9/x.png"])
        # The policy of the page stops what would be markup after all.
        careless.write_text(self.template.replace("<main>", f"{picture}<main>").replace("__DATA__", "{}"), encoding="utf-8")
        self.browser.open(careless)
        self.assertEqual(self.browser.requests(), [])
        self.assertTrue(any("Content Security Policy" in message for message in self.browser.messages()))


if __name__ == "__main__":
    run_tests()
