"""Traces of recordings, read with Perfetto's own classes, have the calls of events.jsonl in the same nesting."""

from __future__ import annotations

import json
import os
import pathlib
import pty
import subprocess
import tempfile
import time
import unittest

import recordings
from decoded import Decoded


class Trace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.recording = cls.folder / "recording"
        recordings.record(cls.recording)
        cls.spans = recordings.add_timeline(cls.recording)
        cls.printed = recordings.trace(cls.recording)
        cls.trace = Decoded(cls.recording / "trace.pftrace")

    def slices(self):
        (thread,) = self.trace.threads()
        return thread.slices

    def test_has_each_call_of_the_events_in_their_order_with_their_times(self):
        before = recordings.calls_of(self.recording, "before")
        after = {call["seq"]: call for call in recordings.calls_of(self.recording, "after")}
        calls = [one for one in self.slices() if "call" in one.details]
        self.assertEqual([one.name for one in calls], [call["kernel"] for call in before])
        for one, call in zip(calls, before, strict=True):
            self.assertEqual(one.details["seq"], call["seq"])
            self.assertEqual((one.details["run"], one.details["call"]), (call["run"], call["call"]))
            self.assertEqual((one.begin, one.end), (call["time_ns"], after[call["seq"]]["time_ns"]))
        self.assertEqual(self.trace.left_open, [])

    def test_nests_model_run_call_and_library_kernel(self):
        depths = {"model": 0, "run": 1, "triton": 2, "op": 2, "launch": 3}
        for one in self.slices():
            if one.category in depths:
                self.assertEqual(one.depth, depths[one.category], one)
        runs = [one for one in self.slices() if one.category == "run"]
        self.assertEqual([one.name for one in runs], ["run 0", "run 1", "run 2"])
        launches = [one for one in self.slices() if one.category == "launch"]
        self.assertEqual([one.name for one in launches], ["fake_sgemm_kernel"] * 3)
        for one in self.slices():
            if "call" in one.details:
                run = runs[one.details["run"]]
                self.assertTrue(run.begin <= one.begin <= one.end <= run.end)

    def test_shows_the_arguments_of_each_side(self):
        (relu, *_) = [one for one in self.slices() if one.name == "triton_poi_fused_relu_0"]
        self.assertEqual(relu.details["original ATen"], "aten.add, aten.relu")
        self.assertIn("float32 [8, 16], mean ", relu.details["before"]["buf1 (in_out_ptr0)"])
        self.assertIn("float32 [8, 16], mean ", relu.details["after"]["buf1 (in_out_ptr0)"])
        self.assertNotIn("l1_bias (in_ptr0)", relu.details["after"])
        self.assertEqual(relu.details["before"]["128L (xnumel)"], "128")
        (sqrt, *_) = [one for one in self.slices() if one.name == "triton_poi_fused_sqrt_2"]
        self.assertIn("not written yet", sqrt.details["before"]["buf4 (out_ptr0)"])
        self.assertIn("25 NaN", sqrt.details["after"]["buf4 (out_ptr0)"])

    def test_arrows_lead_from_each_launch_to_its_kernel(self):
        stream = self.trace.named("stream 0x7")
        self.assertEqual([one.name for one in stream.slices], [span["kernel"] for span in sorted(self.spans, key=lambda span: span["start_ns"])])
        by_flow = {one.flows[0]: one for one in self.slices() if one.flows}
        for one in stream.slices:
            launch = by_flow[one.flows[0]]
            self.assertEqual(launch.details["seq"], one.details["seq"])
            self.assertEqual(launch.name, one.name)
            self.assertLess(launch.begin, one.begin)

    def test_streams_are_below_their_device_and_overlaps_beside_each_other(self):
        device = self.trace.named("GPU 0 (Software device, 128 GB/s)").descriptor
        for name in ("stream 0x7", "stream 0x8", "stream 0x8, overlap 1"):
            self.assertEqual(self.trace.named(name).descriptor.parent_uuid, device.uuid)
        for name in ("stream 0x8", "stream 0x8, overlap 1"):
            (copy,) = self.trace.named(name).slices
            self.assertEqual((copy.category, copy.details, copy.flows), ("copy", {"bytes": 4096}, []))

    def test_counts_nan_and_bytes_and_shows_findings(self):
        self.assertEqual(max(count for _, count in self.trace.named("NaN elements written").counts), 50)
        counts = [count for _, count in self.trace.named("bytes written").counts]
        self.assertEqual(counts, sorted(counts))
        (finding,) = self.trace.named("findings").instants
        self.assertRegex(finding.name, "^AD1102: NaN in buf4, first made by triton_poi_fused_sqrt_2")
        self.assertIn("1 process, 21 calls, 20 device spans, 1 finding", self.printed.stdout)

    def test_a_recording_at_level_3_has_the_calls_of_the_ring(self):
        recording = self.folder / "names"
        recordings.record(recording, level=3, threads=2)
        done = recordings.trace(recording)
        self.assertIn("AOTI_DBG_TIMELINE=1", done.stderr)
        trace = Decoded(recording / "trace.pftrace")
        calling = [track for track in trace.threads() if any("call" in one.details for one in track.slices)]
        self.assertEqual(len(calling), 2)
        models = {one.name for track in calling for one in track.slices if one.category == "model"}
        self.assertEqual(models, {"cstats.wrapper.so"})
        for track in calling:
            names = [one.name for one in track.slices if "call" in one.details]
            self.assertEqual(len(names), 18)
            self.assertEqual({one.depth for one in track.slices if one.category == "triton"}, {2})
            self.assertEqual({one.depth for one in track.slices if one.category == "launch"}, {3})
        self.assertEqual(trace.left_open, [])

    def test_kernels_and_findings_have_the_python_line_that_the_package_says(self):
        recording = self.folder / "provenance"
        recordings.record(recording, "--check", "nan")
        (package,) = (recording / "evidence").iterdir()
        stack = 'File "/home/user/net.py", line 12, in forward\n    return x.sqrt()'
        kernels = {"triton_poi_fused_sqrt_2:3": {"stack_traces": [stack], "post_grad_nodes": ["sqrt"], "pre_grad_nodes": ["root"]}}
        # It has no handles, which would say which of several kernels of one name is meant.
        (package / "cstats.wrapper.cpp").unlink()
        (package / "kernel_information.json").write_text(json.dumps(kernels))
        recordings.trace(recording)
        trace = Decoded(recording / "trace.pftrace")
        (thread,) = trace.threads()
        named = [one for one in thread.slices if one.name == "triton_poi_fused_sqrt_2"]
        marked = trace.named("findings").instants
        self.assertEqual(len(named), 3)
        for one in (*named, marked[0]):
            self.assertEqual(one.details["Python"], "net.py:12 in forward: return x.sqrt()", one)
        self.assertNotIn("Python", next(one for one in thread.slices if one.name == "triton_poi_fused_relu_0").details)

    def test_a_recording_of_one_side_still_nests(self):
        for side, part in (("before", '"side":"before"'), ("after", '"side":"after"')):
            recording = self.folder / side
            recording.mkdir()
            lines = (self.recording / "events.jsonl").read_text().splitlines(keepends=True)
            kept = [line for line in lines if '"event":"call"' not in line or part in line]
            (recording / "events.jsonl").write_text("".join(kept))
            printed = recordings.trace(recording).stdout
            trace = Decoded(recording / "trace.pftrace")
            calls = [one for track in trace.threads() for one in track.slices if "call" in one.details]
            self.assertEqual([one.depth for one in calls], [2] * 18, side)
            self.assertIn("1 process, 18 calls,", printed)
            self.assertEqual(trace.left_open, [], side)

    def test_a_call_that_did_not_return_stays_open(self):
        recording = self.folder / "cut"
        recording.mkdir()
        lines = (self.recording / "events.jsonl").read_text().splitlines(keepends=True)
        last = max(i for i, line in enumerate(lines) if '"side":"before"' in line)
        (recording / "events.jsonl").write_text("".join(lines[: last + 1]) + lines[last + 1][:40])
        self.assertIn("the last line is incomplete", recordings.trace(recording).stderr)
        trace = Decoded(recording / "trace.pftrace")
        self.assertEqual([one.category for one in trace.left_open], ["model", "run", "triton"])

    def test_overwrites_nothing(self):
        first = (self.recording / "trace.pftrace").read_bytes()
        self.assertIn("trace.2.pftrace", recordings.trace(self.recording).stdout)
        self.assertEqual((self.recording / "trace.pftrace").read_bytes(), first)
        self.assertEqual((self.recording / "trace.2.pftrace").stat().st_mode & 0o777, 0o600)
        done = recordings.trace(self.recording, "--output", self.recording / "trace.pftrace", code=1)
        self.assertIn("file exists", done.stderr)
        self.assertEqual(list(self.recording.glob(".*")), [])
        (self.recording / "trace.2.pftrace").unlink()


class Top(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.recording = pathlib.Path(folder.name) / "recording"
        recordings.record(cls.recording)

    def top(self, *arguments: str) -> str:
        return subprocess.run([recordings.tool, "top", self.recording, *arguments], capture_output=True, text=True, check=True).stdout

    def test_lists_host_times_without_a_timeline_and_device_times_with_one(self):
        spent: dict[str, int] = {}
        for sign, side in ((-1, "before"), (1, "after")):
            for call in recordings.calls_of(self.recording, side):
                spent[call["kernel"]] = spent.get(call["kernel"], 0) + sign * call["time_ns"]
        host = json.loads(self.top("--format", "json"))
        self.assertEqual(host["time"], "host")
        self.assertEqual({one["name"]: one["time_ns"] for one in host["kernels"]}, spent)
        self.assertIn("on the host. If the program uses a GPU", self.top())
        spans = recordings.add_timeline(self.recording)
        device = json.loads(self.top("--format", "json"))
        self.assertEqual(device["time"], "device")
        (add,) = [one for one in device["kernels"] if one["name"] == "triton_poi_fused_add_3"]
        took = sum(span["end_ns"] - span["start_ns"] for span in spans if span["kernel"] == add["name"])
        self.assertEqual((add["count"], add["time_ns"], add["bytes"]), (3, took, 1536))
        self.assertAlmostEqual(add["bytes_per_second"], 1536 * 3 / (took * 1e-9), delta=1)
        self.assertAlmostEqual(add["share_of_peak"], add["bytes_per_second"] / 128e9)
        self.assertEqual(device["devices"], [{"name": "Software device", "peak_bytes_per_second": 128e9}])
        self.assertIn("Software device: peak memory bandwidth 128 GB/s\n", self.top())
        self.assertAlmostEqual(sum(one["share"] for one in device["kernels"]), 1)
        self.assertRegex(self.top("--limit", "1"), r"6 more kernels. Raise --limit to list all.\n$")

    def test_shows_a_running_process_until_q(self):
        out = self.recording.parent / "live"
        waiting = subprocess.Popen(
            [recordings.tool, "run", "--level", "3", "--out", out, "--log", out.parent / "log", "--",
             recordings.build / "victims/cuda_models", "--runs", "1000000", recordings.MODEL],
            env={**os.environ, "LD_LIBRARY_PATH": str(recordings.build / "fakes")},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.addCleanup(waiting.wait)
        self.addCleanup(waiting.terminate)  # which reaches the program, too
        ring = out / "flight.ring"
        # The ring has its process number when it is complete.
        while waiting.poll() is None and not (ring.exists() and any(ring.read_bytes()[16:20])):
            time.sleep(0.01)
        inside, outside = pty.openpty()
        shown = subprocess.Popen([recordings.tool, "top", out], stdin=outside, stdout=outside, env={**os.environ, "TERM": "xterm"})
        os.close(outside)
        text = b""
        while b"Press q to quit" not in text or b"triton" not in text:
            text += os.read(inside, 4096)
        os.write(inside, b"q")
        self.assertEqual(shown.wait(timeout=20), 0)
        os.close(inside)


if __name__ == "__main__":
    unittest.main()
