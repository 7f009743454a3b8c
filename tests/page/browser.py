"""A headless Chromium that opens pages as a reader does, and notices what they must not do."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import tempfile

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

DEADLINE = 20  # of a test that has failed
DESKTOP = (1440, 900)
PHONE = (390, 844)
# Chromium's sandbox needs rights that a container does not have.
ARGUMENTS = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars",
             "--disable-background-networking", "--disable-component-update", "--no-first-run", "--force-color-profile=srgb"]


def joined_page(folder: pathlib.Path) -> str:
    """The template that the command embeds, joined from its sources."""
    path = folder / "joined.html"
    script = pathlib.Path(__file__).resolve().parents[2] / "cli" / "page" / "join_page.cmake"
    subprocess.run([os.environ.get("AOTI_DBGTEST_CMAKE", "cmake"), f"-DOUTPUT={path}", "-P", script], check=True)
    return path.read_text(encoding="utf-8")


class Browser:
    def __init__(self) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = os.environ["AOTI_DBGTEST_CHROMIUM"]
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        for argument in [*ARGUMENTS, f"--user-data-dir={self.profile.name}"]:
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(os.environ["AOTI_DBGTEST_CHROMEDRIVER"]))
        self.driver.execute_cdp_cmd("Network.enable", {})

    def close(self) -> None:
        self.driver.quit()
        self.profile.cleanup()

    def open(self, page: pathlib.Path, fragment: str = "", size: tuple[int, int] = DESKTOP, scheme: str = "light", motion: str = "no-preference") -> None:
        """Open a page anew, and wait until its script has run."""
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size[0] < 700})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": motion}]})
        self.driver.get("about:blank")
        self.messages()
        self.requests()
        self.driver.get(page.as_uri() + fragment)
        self.wait(lambda: self.run("return Boolean(window.aotiDbgPage) && document.readyState === 'complete'"), f"{page.name} starts")
        self.frame()

    def frame(self) -> None:
        """Wait until the page has drawn what was requested so far."""
        self.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(() => arguments[0]()))")

    def run(self, script: str, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, condition, what: str):
        return WebDriverWait(self.driver, DEADLINE, poll_frequency=0.02).until(lambda _: condition(), f"waited for: {what}")

    def one(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def texts(self, selector: str) -> list[str]:
        return self.run("return [...document.querySelectorAll(arguments[0])].filter(e => e.checkVisibility()).map(e => e.textContent)", selector)

    def keys(self, *keys: str) -> None:
        """Type into what has the focus."""
        self.driver.switch_to.active_element.send_keys(*keys)
        self.frame()

    def messages(self) -> list[str]:
        """Errors and warnings on the console since the last call, those of the content security policy included."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """What was requested since the last call, other than the page itself and what its policy stopped, which is a message."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        requested = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
        stopped = {event["params"]["requestId"] for event in events
                   if event["method"] == "Network.loadingFailed" and event["params"].get("blockedReason") == "csp"}
        return [one["request"]["url"] for one in requested
                if one["requestId"] not in stopped and one.get("type") != "Document" and not one["request"]["url"].startswith("data:")]

    def axe(self, source: str) -> list[str]:
        """The serious and critical violations that axe sees."""
        # The page's policy forbids scripts, so the debugger's protocol evaluates it.
        self.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": source})
        found = self.driver.execute_async_script(
            "const done = arguments[0]; axe.run(document, { resultTypes: ['violations'] }).then("
            "result => done(result.violations.map(one => [one.impact, one.id, one.nodes.map(node => node.html.slice(0, 160))])), done)")
        return [f"{impact}: {rule}: {nodes}" for impact, rule, nodes in found if impact in ("serious", "critical")]
