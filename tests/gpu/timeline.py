"""Compares a timeline.jsonl with the flight recorder ring, and with torch.profiler's times of the same runs. The
times may come from CUPTI or from markers, which give one span for each launch.

  timeline.py TIMELINE RING.txt REFERENCE.json   RING.txt is the output of `aoti-dbg show --all`
"""

import collections
import json
import statistics
import sys

MOST_US = {"cupti": 2.0, "markers": 10.0}
KERNELS_OF_GRAPH = {"cupti": 3, "markers": 1}


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def rows_of(path):
    with open(path, encoding="utf-8") as file:
        rows = [line.split() for line in file]
    return {int(row[0]): " ".join(row) for row in rows if row and row[0].isdigit()}


def short(name):
    """The words that a kernel's name certainly has in the ring, too."""
    return name.split("<")[0].split("(")[0].split("::")[-1].split(" ")[-1]


def out_of_order(spans):
    """Spans of markers that are not after the launch before them on their stream."""
    last = {}
    wrong = []
    for span in spans:
        seq, end = last.get(span["stream"], (0, 0))
        if span["seq"] <= seq or span["end_ns"] < end:
            wrong.append(f"after launch {seq}, which ended at {end}: {span}")
        last[span["stream"]] = span["seq"], span["end_ns"]
    return wrong


def main(timeline, ring, reference):
    events = lines_of(timeline)
    source = events[0]["source"]
    spans = [event for event in events if event["event"] == "span"]
    rows = rows_of(ring)
    wrong = [f"the end is {events[-1]}"] if events[-1].get("counts", {}).get("lost") != 0 else []
    if source == "markers":
        wrong += out_of_order(spans)
    graphs = collections.Counter()
    checked = 0
    for span in spans:
        row = rows.get(span["seq"])
        if span["start_ns"] > span["end_ns"]:
            wrong.append(f"ends before it starts: {span}")
        if row is None or span["kind"] != "kernel":
            continue
        if " graph " in row:
            graphs[span["seq"]] += 1
            continue
        checked += 1
        if short(span["kernel"]) not in row:
            wrong.append(f"{span['kernel'][:80]} is not what this call launched: {row}")
    if list(graphs.values()) != [KERNELS_OF_GRAPH[source]] * 5:
        wrong.append(f"kernels of each graph launch: {dict(graphs)}")
    mine = collections.defaultdict(list)
    for span in spans:
        mine[span.get("kernel")].append((span["end_ns"] - span["start_ns"]) / 1000)
    with open(reference, encoding="utf-8") as file:
        theirs = {name: times for name, times in json.load(file).items() if not name.startswith(("Mem", "aoti_dbg_"))}
    differences = [
        abs(statistics.median(times) - statistics.median(mine[name])) for name, times in theirs.items() if name in mine
    ]
    if len(differences) != len(theirs) or not differences or max(differences) > MOST_US[source]:
        wrong.append(f"{len(differences)} of {len(theirs)} kernels are in both, differences in us: {differences}")
    print(*wrong[:20], sep="\n")
    kinds = collections.Counter(span["kind"] for span in spans)
    print(f"note: {source}: {len(spans)} spans {dict(kinds)}, {checked} names agree, "
          f"medians of {len(differences)} kernels within {max(differences, default=-1):.2f} us of torch.profiler's")  # fmt: skip
    sys.exit(1 if wrong or checked < 100 else 0)


main(*sys.argv[1:])
