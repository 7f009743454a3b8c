"""`aoti-dbg report --html` on real models: the numbers of the page are those of events.jsonl, which this file
adds up on its own.

AOTI_DBGTEST_TOOL is the path of the command.
"""

from __future__ import annotations

import collections
import json
import math
import os
import pathlib
import subprocess
import tempfile
import unittest

import recorded_page
import support

tool = os.environ["AOTI_DBGTEST_TOOL"]
MODELS = ["linear_softmax", "fallback_ops", "cat_100", "dynamic_batch", "custom_op"]
ENDS = {"inputs": "aoti_model_inputs", "outputs": "aoti_model_outputs"}


def rounded(value: float | str) -> float | str:
    """Return a number as the page writes it, and what is not finite as it is."""
    return value if isinstance(value, str) else float(f"{value:.5g}")


class Recording:
    """The calls of an events.jsonl: for each, the runs in order, with the tensors of both sides."""

    def __init__(self, path: pathlib.Path):
        self.calls = collections.defaultdict(dict)
        self.definitions = {}
        for line in path.read_text().splitlines():
            event = json.loads(line)
            if event["event"] in ("site", "argument", "tensor"):
                self.definitions[event["event"], event["id"]] = event
            if event["event"] == "call":
                side = event["side"]
                key = event["model"], event.get("call", -1), event.get("kernel", ENDS.get(side))
                run = self.calls[key].setdefault(event["run"], {})
                run["after" if side in ("after", "inputs") else "before"] = self.completed(event)

    def completed(self, event: dict) -> dict:
        for argument in event["arguments"]:
            argument.update(role=self.definitions["argument", argument["argument"]]["role"])
            if "tensor" in argument:
                argument["layout"] = self.definitions["tensor", argument["tensor"]]
        return event


def measured(argument: dict) -> bool:
    return "tensor" in argument and "measured" not in argument and not argument.get("unwritten")


class Page(support.Test):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        place = pathlib.Path(folder.name)
        cls.out = place / "out"
        done = support.run_victim(
            "sweep", "released", "-", *MODELS, folder=place, preload=True, AOTI_DBG_LEVEL="2",
            AOTI_DBG_RECORD="bits", AOTI_DBG_OUT=str(cls.out),
        )  # fmt: skip
        assert done.code == 0, done.stderr
        cls.recording = Recording(cls.out / "events.jsonl")
        for flags, name in ([], "page"), (["--confidential"], "page2"):
            output = place / f"{name}.html"
            subprocess.run([tool, "report", cls.out, "--html", *flags, "--output", output], check=True)
            data = recorded_page.data_in(output.read_text())
            (cls.out / f"{name}.json").write_text(json.dumps(data))
            setattr(cls, name, recorded_page.Page(data))
        support.collect_outputs(cls.out)

    def row_of(self, key: tuple) -> int:
        model, call, kernel = key
        (row,) = [
            row for row in range(len(self.page.rows["site"]))
            if (self.page.model_of(row)["number"], self.page.rows["call"][row], self.page.kernel_of(row)) == (model, call, kernel)
        ]  # fmt: skip
        return row

    def test_each_call_of_each_model_is_one_row_with_its_number_of_runs(self):
        self.assertGreater(len(self.recording.calls), 20)
        self.assertEqual(len(self.page.rows["site"]), len(self.recording.calls))
        for key, runs in self.recording.calls.items():
            self.assertEqual(self.page.rows["runs"][self.row_of(key)], len(runs), key)
        self.assertEqual(self.page.data["recorded"]["left_out"], [])

    def test_statistics_are_those_of_the_run_that_the_row_shows(self):
        compared = 0
        for key, runs in self.recording.calls.items():
            row = self.row_of(key)
            shown = runs[self.page.rows["run"][row]]
            detail = self.page.detail_of(row)
            for side in ("before", "after"):
                theirs = [one for one in shown[side]["arguments"] if "tensor" in one] if side in shown else []
                for ours, argument in zip(detail[side], theirs, strict=True):
                    compared += self.compare(row, ours, argument)
        self.assertGreater(compared, 100)

    def compare(self, row: int, ours: recorded_page.Tensor, argument: dict) -> int:
        self.assertEqual(self.page.arguments_of(row)[ours.argument]["label"], argument["label"])
        self.assertEqual(ours.dtype, argument["dtype"])
        self.assertEqual(ours.sizes, argument["sizes"])
        self.assertEqual(ours.is_measured, measured(argument))
        if not measured(argument):
            return 0
        if "mean" in argument:
            for name in ("mean", "std", "min", "max"):
                theirs = argument.get(name, "NaN")
                self.assertEqual(ours[name], rounded(theirs), (row, argument["label"], name))
        self.assertEqual(ours["zeros"], argument.get("zeros", 0))
        self.assertEqual(ours["nan"], argument.get("nan", 0))
        return 1

    def test_a_row_is_marked_if_a_tensor_has_nan_in_any_run(self):
        for key, runs in self.recording.calls.items():
            tensors = [one for run in runs.values() for event in run.values() for one in event["arguments"] if measured(one)]
            flags = self.page.rows["flags"][self.row_of(key)]
            self.assertEqual(bool(flags & 1), any(one.get("nan") for one in tensors), key)
            self.assertEqual(bool(flags & 32), not tensors, key)

    def test_the_host_time_is_the_median_over_the_runs(self):
        for key, runs in self.recording.calls.items():
            if key[1] < 0 or len(runs) > 9:
                continue
            times = sorted(run["after"]["time_ns"] - run["before"]["time_ns"] for run in runs.values())
            shown = self.page.rows["host_ns"][self.row_of(key)]
            self.assertLess(abs(shown - times[(len(times) - 1) // 2]), 1 + 1e-4 * shown, key)

    def test_the_writer_of_a_tensor_is_the_last_call_that_wrote_its_memory(self):
        found = 0
        for key, runs in self.recording.calls.items():
            row = self.row_of(key)
            last = max(runs)
            for argument in runs[last].get("before", {"arguments": []})["arguments"]:
                expected = self.writer_of(key, last, argument)
                if expected is None:
                    continue
                places = [(one["label"], one.get("role", "unknown")) for one in self.page.arguments_of(row)]
                index = places.index((argument["label"], argument["role"]))
                self.assertEqual(self.page.detail_of(row)["writers"][index], self.row_of(expected), (key, argument["label"]))
                found += 1
        self.assertGreater(found, 20)

    def writer_of(self, key: tuple, run: int, argument: dict) -> tuple | None:
        """Return the last call before it in the run that wrote the address of the tensor."""
        if "address" not in argument or argument["role"] in ("writes", "makes"):
            return None
        before = []
        for other, runs in self.recording.calls.items():
            is_before = other[0] == key[0] and run in runs and (other[1] < key[1] or key[2] == ENDS["outputs"])
            for one in runs[run].get("after", {"arguments": []})["arguments"] if is_before else []:
                writes = other[2] == ENDS["inputs"] or one["role"] in ("writes", "makes", "updates")
                if writes and one.get("address") == argument["address"] and other != key:
                    before.append((other[1], other))
        return max(before)[1] if before else None

    def test_the_series_has_the_mean_of_each_run(self):
        compared = 0
        for key, runs in self.recording.calls.items():
            series = self.page.detail_of(self.row_of(key)).get("series")
            if not series or key[1] < 0:
                continue
            for tensor in series["tensors"]:
                label = self.page.arguments_of(self.row_of(key))[tensor["argument"]]["label"]
                for run, mean in zip(series["runs"], tensor.get("mean", [])):
                    theirs = [one for one in runs[run]["after"]["arguments"] if one["label"] == label]
                    is_empty = 0 in theirs[0]["sizes"]
                    self.assertEqual(mean, None if is_empty else rounded(theirs[0]["mean"]), (key, label, run))
                    compared += 1
        self.assertGreater(compared, 10)

    def test_source_lines_and_kernels_are_in_the_excerpts(self):
        found = 0
        for row in range(len(self.page.rows["site"])):
            site = self.page.site_of(row)
            if site["source"] < 0:
                continue
            source = self.page.data["sources"][site["source"]]
            line = source["text"].splitlines()[site["line"] - source["first_line"]]
            self.assertTrue(line.strip(), source["name"])
            found += 1
        self.assertGreater(found, 12)

    def test_a_confidential_page_has_no_value_path_or_source(self):
        text = json.dumps(self.page2.data)
        # These names are random, so a short name of the host can be a part of one.
        for model in self.page2.data["models"]:
            text = text.replace(model["name"], "").replace(model["package"], "")
        for secret in (str(self.out), "victim.py", os.uname().nodename, "AOTI_TORCH_ERROR_CODE_CHECK"):
            self.assertNotIn(secret, text)
        self.assertEqual(self.page2.data["sources"], [])
        self.assertTrue(self.page2.data["confidential"])
        for row in range(len(self.page2.rows["site"])):
            detail = self.page2.detail_of(row)
            self.assertNotIn("values", detail)
            self.assertNotIn("series", detail)
            for tensor in detail["before"] + detail["after"]:
                self.assertTrue(all(tensor[name] is None for name in ("mean", "std", "min", "max")), row)
        hashes = [one for row in range(len(self.page2.rows["site"])) for one in self.page2.detail_of(row)["after"] if one.hash]
        self.assertGreater(len(hashes), 15)


if __name__ == "__main__":
    unittest.main()
