"""Makes data for the page of `aoti-dbg report --html`, as docs/schema/page.schema.json describes it, without a recording."""

from __future__ import annotations

import json
import math
import random
import re

HOSTILE = '</script><script>window.broken=1</script><img src=x onerror="window.broken=1">\u202e"\'`\x00&amp;'

KERNELS = [
    ("aoti_torch_cuda_addmm_out", "op", "aten.addmm", "linear"),
    ("triton_poi_fused_relu_0", "triton", "aten.relu", "relu"),
    ("triton_per_fused_native_layer_norm_1", "triton", "aten.native_layer_norm", "layer_norm"),
    ("aoti_torch_cuda__scaled_dot_product_flash_attention", "op", "aten._scaled_dot_product_flash_attention", "attention"),
    ("triton_poi_fused_add_gelu_2", "triton", "aten.gelu", "gelu"),
    ("triton_red_fused__softmax_log_3", "triton", "aten._softmax", "softmax"),
    ("aoti_torch_cuda_bmm_out", "op", "aten.bmm", "matmul"),
    ("cpp_fused_embedding_4", "cpp_kernel", "aten.embedding", "embedding"),
]


def source_of(layer: int) -> dict:
    lines = []
    for index, (name, _, aten, node) in enumerate(KERNELS):
        buffer = layer * 8 + index
        lines += [
            f"    // Topologically Sorted Source Nodes: [{node}_{layer}], Original ATen: [{aten}]",
            f"    AtenTensorHandle buf{buffer}_handle;",
            f"    static const int64_t int_array_{buffer}[] = {{8L, 512L}};",
            f"    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(2, int_array_{buffer}, int_array_1, &buf{buffer}_handle));",
            f"    RAIIAtenTensorHandle buf{buffer}(buf{buffer}_handle);",
            f"    call_{name}(buf{buffer - 1}, l{layer}_weight, buf{buffer}, 4096L, stream);",
            f"    buf{buffer - 1}.reset();",
            "",
        ]
    return {"name": "model.wrapper.cpp", "first_line": 300 + layer * 64, "text": "\n".join(lines)}


def tensor(draw: random.Random, argument: int, layout: int, nan: int = 0) -> list:
    mean, std = draw.gauss(0, 0.4), abs(draw.gauss(1, 0.2))
    values = ["NaN"] * 4 if nan else [mean, std, mean - 3 * std, mean + 3.4 * std]
    return [argument, layout, *[float(f"{one:.5g}") if isinstance(one, float) else one for one in values],
            draw.randrange(0, 40), nan, 0, -1]


def series(draw: random.Random, runs: int, first_nan: int | None) -> dict:
    numbers: dict = {"mean": [], "std": [], "min": [], "max": [], "nan": []}
    for run in range(runs):
        mean = 0.1 * math.sin(run / 3) + draw.gauss(0, 0.02)
        is_bad = first_nan is not None and run >= first_nan
        for name, value in zip(("mean", "std", "min", "max"), (mean, 0.3, mean - 1 - run * 0.02, mean + 1.1 + run * 0.03)):
            numbers[name].append("NaN" if is_bad else round(value, 5))
        numbers["nan"].append(3 if is_bad else 0)
    return {"runs": list(range(1, runs + 1)), "tensors": [
        {"argument": 1, "side": "after", **{name: [1] * runs for name in ("mean", "std", "min", "max")}, "nan": {"rle": [0, runs]}},
        {"argument": 2, "side": "after", **numbers}]}


def sites_of(layers: int) -> list[dict]:
    sites = []
    for layer in range(layers):
        for index, (_, _, aten, node) in enumerate(KERNELS):
            buffer = layer * 8 + index
            sites.append({
                "kernel": index, "model": 0, "line": 300 + layer * 64 + index * 8 + 5, "source": layer,
                "source_nodes": [f"{node}_{layer}"], "aten": [aten], "nodes": [f"%{node}_{layer}"],
                "python": [f"net.py:{12 + layer} in forward: x = self.{node}(x)"],
                "arguments": [
                    {"label": f"buf{buffer - 1}" if buffer else "arg0_1", "fqn": "", "parameter": "in_ptr0", "role": "reads"},
                    {"label": f"l{layer}_weight", "fqn": f"layers.{layer}.weight", "parameter": "in_ptr1", "role": "reads"},
                    {"label": f"buf{buffer}", "fqn": "", "parameter": "out_ptr0", "role": "writes"},
                    {"label": "xnumel", "fqn": "", "parameter": "xnumel", "role": "unknown"},
                ]})
    return sites


def in_columns(sites: list[dict]) -> dict:
    names = ("kernel", "model", "line", "source")
    more = {str(index): {key: value for key, value in site.items() if key not in names} for index, site in enumerate(sites)}
    return {name: [site[name] for site in sites] for name in names} | {"more": more}


def details_of(draw: random.Random, rows: int, bad_row: int, runs: int) -> list[dict]:
    details = []
    for row in range(rows):
        is_bad = row >= bad_row
        weight = tensor(draw, 1, 1)
        detail: dict = {
            "before": [tensor(draw, 0, 0, 3 if row > bad_row else 0), weight],
            "after": [weight, tensor(draw, 2, 0, 3 if is_bad else 0)],
            "values": {"3": "4096"},
            "writers": [row - 1, -1, row, -1],
            "readers": [[row], [row], [row + 1] if row + 1 < rows else [], []],
            "series": series(draw, runs, runs // 2 if is_bad else None),
        }
        if row % 3 == 0:
            counts = [round(400 * math.exp(-((index - 16) ** 2) / 40)) for index in range(32)]
            detail["histograms"] = [{"argument": 2, "side": "after", "edges": [-3 + index * 0.1875 for index in range(33)], "counts": counts}]
            detail["files"] = [{"argument": 2, "side": "after", "path": f"tensors/run1/{row:04} buf.pt"}]
            detail["bundle"] = f"launches/{row:04}/launch.json"
        details.append(detail)
    return details


def finding(row: int, site: dict) -> dict:
    return {
        "code": "AD1102", "sentence": "NaN in buf13, first made by triton_red_fused__softmax_log_3", "kernel": 5, "process": 0,
        "model": 0, "run": 3, "call": row, "row": row, "line": site["line"],
        "tensor": {"label": "buf13", "what": "float32 [8, 512] cuda:0, 3 NaN of 4096, first at [0, 17]"},
        "writer": f"triton_red_fused__softmax_log_3 (call {row})", "repeat": f"aoti-dbg replay recording --kernel triton_red_fused__softmax_log_3@3:{row}",
        "notes": ["The inputs of the call had no NaN."], "suppression": "AD1102 triton_red_fused__softmax_log_3 buf13", "count": 12}


def example(layers: int = 6, runs: int = 40) -> dict:
    """A recording with a NaN, as a reader would meet it."""
    draw = random.Random(39)
    sites = sites_of(layers)
    rows, bad = len(sites), min(13, len(sites) - 1)
    times = [draw.randrange(4_000, 90_000) for _ in sites]
    sizes = [draw.choice([16384, 65536, 1048576]) for _ in sites]
    kernels = [{"name": name, "kind": kind, "count": layers * runs, "time_ns": sum(times[index::8]) * runs, "time": "device",
                "bytes": sum(sizes[index::8]) * runs, "findings": 1 if index == bad % 8 else 0}
               for index, (name, kind, _, _) in enumerate(KERNELS)]
    flags = [5 if row == bad else 1 if row > bad else 0 for row in range(rows)]
    return {
        "format": "aoti-dbg-page", "version": 1, "library": "0.1.0", "confidential": False,
        "title": "python infer.py --batch 8 --compile",
        "recorded": {"folder": "recording", "start_ns": "1789999990000000000", "runs": runs, "calls": rows * runs, "findings": 1,
                     "processes": 1, "left_out": []},
        "verdict": {"state": "findings", "code": "AD1102", "class": "numerics",
                    "sentence": "The first NaN appears in buf13. triton_red_fused__softmax_log_3 made it in run 3, from inputs without NaN.",
                    "report": "aoti-dbg report\n\nVerdict: the first NaN appears in buf13\n",
                    "repeat": [f"aoti-dbg replay recording --kernel triton_red_fused__softmax_log_3@3:{bad}"],
                    "try": []},
        "findings": [finding(bad, sites[bad])],
        "processes": [{"pid": 4242, "rank": "", "command": "python infer.py --batch 8 --compile", "host": "node7", "folder": ".", "runs": runs,
                       "calls": rows * runs, "coverage": {"models": 1, "runs": runs, "calls": rows * runs, "lost": 0}, "notes": []}],
        "models": [{"name": "model", "process": 0, "number": 0, "path": "/models/model.wrapper.so", "package": "model-5b1f", "torch": "2.11.0"}],
        "kernels": kernels, "sources": [source_of(layer) for layer in range(layers)],
        "dtypes": ["float32"], "layouts": [[0, [8, 512], "cuda:0"], [0, [512, 512], "cuda:0"]], "sites": in_columns(sites),
        "rows": {"site": list(range(rows)), "process": {"rle": [0, rows]}, "call": list(range(rows)), "runs": [runs] * rows, "run": [3] * rows,
                 "host_ns": [9_000] * rows, "device_ns": times, "bytes": sizes, "flags": flags, "detail": list(range(rows))},
        "details": details_of(draw, rows, bad, runs), "diff": None}


def two_ranks() -> dict:
    """The example twice, as two ranks, compared with another recording."""
    data = example()
    rows = data["rows"]
    length = len(rows["site"])
    for name, values in rows.items():
        rows[name] = [0] * length + [1] * length if name == "process" else values * 2
    data["processes"] = [{**data["processes"][0], "rank": str(rank), "pid": 4242 + rank, "folder": f"rank{rank}-424{rank}"} for rank in range(2)]
    data["processes"][1]["notes"] = ["events.jsonl: 3 damaged lines"]
    data["recorded"].update(processes=2, left_out=["statistics of 20,000 calls: events.jsonl has them"])
    data["diff"] = {"sentence": "The recordings part at call 9: triton_poi_fused_relu_0 wrote other values to buf9.", "other": "yesterday",
                    "text": "expected mean 0.25, got 0.31\n", "rows": [[9, "buf9: expected mean 0.25, got 0.31"]]}
    return data


def large(rows: int = 100_000) -> dict:
    """As many calls as a page is made for, in the short forms of the data."""
    draw = random.Random(40)
    data = example()
    sites = len(data["rows"]["site"])
    deep = len(data["details"])
    data["recorded"].update(calls=rows, left_out=[f"statistics of {rows - deep} calls: events.jsonl has them"])
    data["rows"] = {
        "site": [row % sites for row in range(rows)], "process": {"rle": [0, rows]}, "call": {"delta": {"rle": [0, 1, 1, rows - 1]}},
        "runs": {"rle": [1, rows]}, "run": {"rle": [3, rows]}, "host_ns": [draw.randrange(900, 90_000) for _ in range(rows)],
        "device_ns": {"rle": [0, rows]}, "bytes": {"dict": [16384, 1048576], "index": {"rle": [0, rows // 2, 1, rows - rows // 2]}},
        "flags": {"rle": [0, 13, 5, 1, 0, rows - 14]}, "detail": [row if row < deep else -1 for row in range(rows)]}
    return data


def main_tensors() -> dict:
    """The example, without details of its later calls. The numbers are 0.5, 1, -Inf and an unknown one."""
    data = example()
    rows = len(data["rows"]["site"])
    data["details"] = data["details"][:10]
    data["rows"]["detail"] = [row if row < 10 else -1 for row in range(rows)]
    data["recorded"].update(left_out=[f"arguments and most statistics of {rows - 10} calls: events.jsonl has them"])
    data["main"] = {"before": {"numbers": "/" * 12 * rows, "nan": {"rle": [-1, rows]}, "inf": {"rle": [-1, rows]}},
                    "after": {"numbers": "PwAP4A/4A///" * rows, "nan": {"rle": [0, rows - 1, 3, 1]}, "inf": {"rle": [0, rows]}}}
    return data


def hostile() -> dict:
    """The two ranks, with each text replaced by one that would break a careless page."""
    keep = {"format", "state", "side", "role", "time", "start_ns"}

    def spoil(value, name=""):
        if isinstance(value, dict):
            return {key: spoil(one, key) for key, one in value.items()}
        if isinstance(value, list):
            return [spoil(one, name) for one in value]
        return HOSTILE if isinstance(value, str) and name not in keep and value not in ("NaN", "Infinity") else value

    data = spoil(two_ranks())
    data["details"][0]["files"] = [{"argument": 2, "side": "after", "path": path}
                                   for path in ("javascript:window.broken=1", "../../etc/passwd", "/etc/passwd", "a b/#?%.pt")]
    return data


def confidential() -> dict:
    data = example()
    data["confidential"] = True
    del data["title"], data["recorded"]["folder"]
    data["sources"] = []
    for detail in data["details"]:
        for side in ("before", "after"):
            detail[side] = [[*one[:2], None, None, None, None, None, one[7], 0, -1, "fc4992d34e73306b"] for one in detail[side]]
        for name in ("series", "histograms", "files", "bundle", "values"):
            detail.pop(name, None)
    return data


def fill(template: str, data: dict | None) -> str:
    """Put data into the joined page, as the command does it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    escaped = re.sub("[<>&\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", text)
    assert template.count("__DATA__") == 1
    return template.replace("__DATA__", escaped)
