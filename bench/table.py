"""Results of run.py as Markdown tables: for the terminal, for result files, and for the generated sections of
docs/internals/benchmarks.md and docs/explanation/costs.md. It measures nothing and decides nothing."""

from __future__ import annotations

import json
import pathlib
import re
import statistics

UNITS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
BEGIN, END = "<!-- begin of generated figures -->", "<!-- end of generated figures -->"
# The groups whose rows are the same options, so that one table has them all.
COST_MODELS = {
    "transformer": "transformer",
    "bert": "BERT",
    "pointwise": "`relu(x)*2+1`",
}


def machine_line(machine: dict) -> str:
    parts = [f"{machine['cpu']}, {machine['cores']} cores"]
    if machine.get("gpu"):
        parts.append(f"{machine['gpu']}, driver {machine['driver']}")
    if machine.get("torch"):
        parts.append(f"torch {machine['torch']}")
    return "; ".join(parts)


def _number(value: float) -> str:
    return f"{value:.4g}" if value < 1000 else f"{value:.0f}"


def _pairs(row: dict, baseline: dict) -> list[float]:
    """Return the ratios to the baseline's values of the same turns."""
    return [value / base for value, base in zip(row["values"], baseline["values"])]


def _quick(row: dict) -> float:
    """Return the lower quartile. Hosts have slow moments, but none that is too fast."""
    return sorted(row["values"])[len(row["values"]) // 4]


def _against_limit(row: dict, found: dict[str, float]) -> str:
    if not row.get("limit"):
        return ""
    kind, limit = row["limit"]
    text = {"value": f"≤ {limit:g}", "added": f"≤ +{limit:g}", "ratio": f"≤ {limit:g}×", "paired": f"≤ {limit:.2f}×"}[kind]
    # Targets of pairs have two digits. The third depends on the machine's other load.
    value = round(found[kind], 2) if kind == "paired" else found[kind]
    return f"{text}: {'reached' if value <= limit else 'MISSED'}"


def _amount(size: int) -> str:
    for unit, bytes_of_it in (("GiB", 1 << 30), ("MiB", 1 << 20)):
        if size >= bytes_of_it:
            return f"{size / bytes_of_it:.3g} {unit}"
    return f"{size / 1024:.3g} KiB"


def _measured(row: dict) -> str:
    found = row.get("measured")
    return f"{found['tensors']}, {_amount(found['bytes'])}" if found else ""


def _heading(result: dict) -> list[str]:
    return [
        f"**{result['title']}**",
        "",
        f"{result['when']}, {result['repetitions']} interleaved repetitions, load {result['load']:.1f} at the start; "
        f"library {result['library']}.",
        "",
    ]


def _median_of(rows: list[dict], **expected) -> float | None:
    """Return the median in nanoseconds of the one matching row."""
    for row in rows:
        if row["values"] and all(row[member] == value for member, value in expected.items()):
            return statistics.median(row["values"])
    return None


def _reach(row: dict, found: dict) -> str:
    if not row["limit"]:
        return ""
    kind, limit = row["limit"]
    text = {
        "share": f"≥ {limit:.0%} of the file system",
        "faster": f"{limit:g} times PyTorch's speed",
        "rate": f"≥ {limit:g} GB/s",
    }[kind]
    return text if found[kind] is None else f"{text}: {'reached' if found[kind] >= limit else 'MISSED'}"


def _saved(row: dict, seconds: float) -> tuple[str, str, str, str]:
    saved = row.get("measured")
    if not saved:
        return "", "", "", ""
    files = [str(saved["files"]), *(f"{saved[how]} {how}" for how in ("linked", "replaced") if saved[how])]
    rate, files_a_second = saved["bytes"] / 1e6 / seconds, saved["files"] / seconds
    return ", ".join(files), _amount(saved["bytes"]), _number(rate), _number(files_a_second)


def saving_table(result: dict) -> str:
    """Return the table for saved tensors: what was written, how fast, and compared with which variant."""
    rows = result["rows"]
    lines = [
        *_heading(result),
        f"| | s, median | lowest to highest | against {rows[0]['name']} | more, s | files | written | MB/s | files/s "
        "| PyTorch's time / this | PyTorch's added time / this | of the file system's rate "
        "| the same for the added time | reach |",
        "|---" * 14 + "|",
    ]
    base = statistics.median(rows[0]["values"])
    pytorch = _median_of(rows, saves="PyTorch")
    for row in rows:
        if not row["values"]:
            lines.append(f"| {row['name']} | failed |" + " |" * 12)
            continue
        values = [value / UNITS["s"] for value in row["values"]]
        middle = statistics.median(row["values"])
        alone = _median_of(rows, files_of=row["name"])
        found = {
            "share": alone and alone / middle,
            "faster": pytorch and row["saves"] in ("level 1", "PyTorch") and pytorch / middle,
            "rate": row.get("measured") and row["measured"]["bytes"] / middle,  # bytes per nanosecond
        }
        # The time for saving alone, because the program's own time dominates if files are few.
        more = middle - base if row["saves"] in ("level 1", "PyTorch") else 0
        cells = (
            row["name"], _number(middle / UNITS["s"]), f"{_number(min(values))} to {_number(max(values))}",
            "" if row is rows[0] else f"{middle / base:.3g}×", _number(more / UNITS["s"]) if more else "",
            *_saved(row, middle / UNITS["s"]), f"{found['faster']:.3g}×" if found["faster"] else "",
            f"{(pytorch - base) / more:.3g}×" if found["faster"] and more > 0 else "",
            f"{found['share']:.0%}" if found["share"] else "",
            f"{alone / more:.0%}" if alone and more > 0 else "", _reach(row, found),
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def group_table(result: dict) -> str:
    """Return the table of one measured group: a heading, the machine, and a row per variant."""
    if "place" in result:
        return saving_table(result)
    unit = result["unit"]
    has_measured = any(row.get("measured") for row in result["rows"])
    lines = [
        *_heading(result),
        f"| | {unit.replace('us', 'µs')}, median | lowest to highest | against {result['rows'][0]['name']} "
        "| median of pairs | lowest pair | quick quarter | more | " + ("tensors measured, of | " if has_measured else "") + "reach |",
        "|---" * (9 + has_measured) + "|",
    ]
    base = statistics.median(result["rows"][0]["values"]) / UNITS[unit]
    for row in result["rows"]:
        if not row["values"]:
            lines.append(f"| {row['name']} | failed |" + " |" * (7 + has_measured))
            continue
        values = [value / UNITS[unit] for value in row["values"]]
        pairs = _pairs(row, result["rows"][0])
        middle = statistics.median(values)
        found = {"value": middle, "added": middle - base, "ratio": middle / base, "paired": statistics.median(pairs)}
        against = ("",) * 5
        if row is not result["rows"][0]:
            quick = _quick(row) / _quick(result["rows"][0])
            ratios = (f"{ratio:.3f}×" for ratio in (found["ratio"], found["paired"], min(pairs), quick))
            against = (*ratios, f"{found['added']:+.3g}")
        cells = (
            row["name"], _number(middle), f"{_number(min(values))} to {_number(max(values))}", *against,
            *([_measured(row)] if has_measured else []), _against_limit(row, found),
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def cost_table(results: list[dict]) -> str:
    """Return one table for several models: a row for each option, and each model's time and pairs."""
    models = [result for key in COST_MODELS for result in results if result["group"].partition(":")[2] == key]
    head, cells = [""], {}
    for result in models:
        unit = result["unit"].replace("us", "µs")
        head += [f"{COST_MODELS[result['group'].partition(':')[2]]}, {unit}", "ratio", "lowest", "quick"]
        for row in result["rows"]:
            found = cells.setdefault(row["name"], [])
            if not row["values"]:
                found += ["failed", "", "", ""]
                continue
            pairs = _pairs(row, result["rows"][0])
            middle = statistics.median(row["values"]) / UNITS[result["unit"]]
            quick = _quick(row) / _quick(result["rows"][0])
            found += [_number(middle), *(f"{ratio:.2f}" for ratio in (statistics.median(pairs), min(pairs), quick))]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    lines += [f"| {' | '.join([name, *found])} |" for name, found in cells.items()]
    return "\n".join(lines)


def read_results(path: pathlib.Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines() if line]


def newest(results: list[dict]) -> dict[str, list[dict]]:
    """For each machine, return the newest result of each group and place, in the order of their first
    measurement."""
    machines: dict[str, dict[tuple, dict]] = {}
    for result in results:
        machines.setdefault(machine_line(result["machine"]), {})[result["group"], result.get("place")] = result
    return {machine: list(groups.values()) for machine, groups in machines.items()}


def tables_in(text: str) -> dict[str, dict[str, str]]:
    """Return the tables in the generated part of a page, by machine and title."""
    found: dict[str, dict[str, str]] = {}
    for part in text.split("\n### ")[1:]:
        machine, _, rest = part.partition("\n")
        tables = [f"**{table.strip()}" for table in re.split(r"^\*\*", rest, flags=re.MULTILINE)[1:]]
        found[machine.strip()] = {table.partition("\n")[0]: table for table in tables}
    return found


def write_costs(results: list[dict], page: pathlib.Path) -> None:
    """Write the table of the GPU on which the family cost was measured last. Without one, the page stays."""
    costs = [result for result in results if result["group"].startswith("cost:")]
    if not costs:
        return
    machine = machine_line(costs[-1]["machine"])
    newest_of_machine = newest(costs)[machine]
    when = ", ".join(sorted({result["when"].partition(" ")[0] for result in newest_of_machine}))
    turns = min(result["repetitions"] for result in newest_of_machine)
    text = f"{machine}. Measured on {when}, medians of at least {turns} turns.\n\n{cost_table(newest_of_machine)}"
    before, rest = page.read_text().split(BEGIN)
    page.write_text(before + BEGIN + "\n" + text + "\n" + END + rest.split(END)[1])


def write_docs(results: list[dict], page: pathlib.Path) -> None:
    """New results replace their tables. Tables of other groups and machines stay."""
    before, rest = page.read_text().split(BEGIN)
    old, after = rest.split(END)
    known = tables_in(old)
    for machine, groups in newest(results).items():
        for table in map(group_table, groups):
            known.setdefault(machine, {})[table.partition("\n")[0]] = table
    parts = []
    for machine, tables in known.items():
        parts += [f"### {machine}", *tables.values()]
    page.write_text(before + BEGIN + "\n" + "\n\n".join(parts) + "\n" + END + after)
