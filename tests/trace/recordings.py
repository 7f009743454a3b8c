"""Recordings of a model on the software driver, and the timeline that a GPU would add."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess

tool = os.environ["AOTI_DBGTEST_TOOL"]
build = pathlib.Path(os.environ["AOTI_DBGTEST_BUILD"])
MODEL = build / "fakes/stats/data/aotinductor/model/cstats.wrapper.so"


def record(out: pathlib.Path, *arguments: str, level: int = 2, threads: int = 1) -> None:
    subprocess.run(
        [tool, "run", "--level", str(level), "--out", out, "--log", out.parent / "log", *arguments, "--",
         build / "victims/cuda_models", "--runs", "3", "--threads", str(threads), MODEL],
        env={**os.environ, "LD_LIBRARY_PATH": str(build / "fakes")}, check=True, capture_output=True, timeout=60,
    )  # fmt: skip


def events_of(folder: pathlib.Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]


def calls_of(folder: pathlib.Path, side: str) -> list[dict]:
    return [event for event in events_of(folder) if event["event"] == "call" and event["side"] == side]


def add_timeline(folder: pathlib.Path) -> list[dict]:
    """Writes a span for each call, and some that no call submitted. Returns those of calls."""
    header = {"event": "header", "format": "aoti-dbg-timeline", "version": 1, "source": "cupti", "library": "0.1.0"}
    header["pid"] = events_of(folder)[0]["pid"]
    spans = []
    free = 0
    for call in calls_of(folder, "after"):
        start = max(free, call["time_ns"] + 3000)
        free = start + 2000 + call["seq"] * 977 % 5000
        spans.append({"event": "span", "seq": call["seq"], "kernel": call["kernel"], "kind": "kernel",
                      "start_ns": start, "end_ns": free, "device": 0, "stream": "0x7"})  # fmt: skip
    others = [
        {"event": "span", "seq": 0, "kernel": "", "kind": "copy", "start_ns": start, "end_ns": free + length,
         "device": 0, "stream": "0x8", "bytes": 4096}
        for start, length in ((free, 500), (free + 100, 300))
    ]  # fmt: skip
    # Completions arrive out of order.
    spans[1:3] = reversed(spans[1:3])
    device = {"event": "device", "device": 0, "name": "Software device", "memory_clock_khz": 1_000_000, "memory_bus_bits": 512}
    lines = [header, device, *spans, *others, {"event": "coverage", "counts": {"spans": len(spans) + 2, "lost": 0}}]
    (folder / "timeline.jsonl").write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    return spans


def trace(folder: pathlib.Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess:
    done = subprocess.run([tool, "trace", folder, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stdout + done.stderr
    return done
