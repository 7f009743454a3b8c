"""The page that the command writes, in a real browser: a model on the software driver makes NaN."""

from __future__ import annotations

import os
import pathlib
import subprocess

from page_case import CALLS, SELECTED, PageCase, run_tests
from selenium.webdriver.common.keys import Keys

BUILD = pathlib.Path(os.environ["AOTI_DBGTEST_BUILD"])
# A folder may have such a name, and the page shows it.
FOLDER = "<img src=x onerror=window.broken=1>"


class Report(PageCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.recording = cls.folder / FOLDER
        model = BUILD / "fakes/stats/data/aotinductor/model/cstats.wrapper.so"
        cls.command("run", "--level", "2", "--out", cls.recording, "--", BUILD / "victims/cuda_models", "--runs", "3", model,
                    LD_LIBRARY_PATH=str(BUILD / "fakes"))
        cls.command("report", cls.recording, "--html")
        cls.command("report", cls.recording, "--html", "--confidential", "--output", cls.folder / "confidential.html")

    @classmethod
    def command(cls, *arguments, **variables) -> None:
        done = subprocess.run([BUILD / "aoti-dbg", *arguments], env={**os.environ, **variables}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def test_a_page_shows_the_recording(self):
        self.browser.open(self.recording / "report.html")
        self.assertIsNone(self.browser.run("return window.broken ?? null"))
        self.assertIn(FOLDER, self.browser.one("#facts").text)
        self.assertIn("NaN in buf4", self.browser.one("#verdict").text)
        finding = self.browser.one(".finding").text
        for words in ("AD1102", "line 341", "buf4", "triton_poi_fused_sqrt_2 (call 3)", "25 NaN"):
            self.assertIn(words, finding)
        self.assertEqual(self.browser.one("#shown").text, "8 distinct calls")
        self.assertEqual(self.browser.one(f"{SELECTED} .of-kernel").text, "triton_poi_fused_sqrt_2")
        self.assertEqual(self.browser.one(f"{SELECTED} .of-after-label").text, "buf4")
        self.assertIn("call_triton_poi_fused_sqrt_2(arg2_1, buf4", self.browser.one(".source .here").text)
        pane = self.browser.one("#pane")
        for words in ("aten.sqrt", "float32 [8, 16]", "triton_poi_fused_add_3 (call 4)", "NaN in 3 of 3 runs"):
            self.assertIn(words, pane.text)
        # The call that wrote an input is one click away.
        self.browser.one("#grid").send_keys("j")
        self.assertEqual(self.browser.one(f"{SELECTED} .of-after-label").text, "buf5")
        next(link for link in self.browser.all("#pane a") if "(call 3)" in link.text).click()
        self.assertEqual(self.browser.one(f"{SELECTED} .of-call").text, "3")

    def test_search_and_kernels(self):
        self.browser.open(self.recording / "report.html")
        self.browser.one("#search").send_keys("addmm")
        self.assertEqual(self.kernels(), ["aoti_torch_cuda_addmm_out"])
        self.browser.one("#search").send_keys(Keys.ESCAPE)
        self.browser.one("#tab-kernels").click()
        rows = self.browser.texts("#panel-kernels tbody tr")
        self.assertTrue(any(row.startswith("triton_poi_fused_sqrt_2") for row in rows), rows)

    def test_a_confidential_page_has_hashes(self):
        self.browser.open(self.folder / "confidential.html")
        self.assertIn("Confidential.", self.browser.one("#notices").text)
        self.assertGreater(len(self.browser.all(CALLS)), 5)
        self.assertNotIn("onerror", self.browser.one("body").get_attribute("innerText"))
        self.assertNotIn(".wrapper.so", self.browser.one("body").get_attribute("innerText"))


if __name__ == "__main__":
    run_tests()
