"""What tests of the page share: a browser, pages with data, and that nothing reaches the console or a network."""

from __future__ import annotations

import os
import pathlib
import tempfile
import unittest

import page_data
from browser import Browser, joined_page

CALLS = "#grid-body [role=row]:not([hidden])"
SELECTED = "#grid-body [aria-selected=true]:not([hidden])"


class PageCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.template = joined_page(cls.folder)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def page(self, name: str, data: dict | None = None) -> pathlib.Path:
        path = self.folder / f"{name}.html"
        if not path.exists():
            path.write_text(page_data.fill(self.template, getattr(page_data, name)() if data is None else data), encoding="utf-8")
        return path

    def tearDown(self):
        self.assertEqual(self.browser.messages(), [], "the console")
        self.assertEqual(self.browser.requests(), [], "requests")

    def kernels(self) -> list[str]:
        return self.browser.texts(f"{CALLS} .of-kernel")

    def calls(self) -> list[str]:
        return self.browser.texts(f"{CALLS} .of-call")

    def shown(self) -> str:
        return self.browser.one("#shown").text


def run_tests() -> None:
    missing = [name for name in ("AOTI_DBGTEST_CHROMIUM", "AOTI_DBGTEST_CHROMEDRIVER") if not os.environ.get(name)]
    if missing:
        raise SystemExit(f"error: {' and '.join(missing)} must name Chromium and its driver. Run scripts/setup --dev.")
    unittest.main()
