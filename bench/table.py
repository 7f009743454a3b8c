"""Results of run.py as Markdown tables: for the terminal, for result files, and for the section of
docs/BENCHMARKS.md that is generated. It measures nothing and decides nothing."""

from __future__ import annotations

import json
import pathlib
import statistics

UNITS = {"ns": 1.0, "us": 1e3, "ms": 1e6}
BEGIN, END = "<!-- begin of generated figures -->", "<!-- end of generated figures -->"


def machine_line(machine: dict) -> str:
    parts = [f"{machine['cpu']}, {machine['cores']} cores"]
    if machine.get("gpu"):
        parts.append(f"{machine['gpu']}, driver {machine['driver']}")
    if machine.get("torch"):
        parts.append(f"torch {machine['torch']}")
    return "; ".join(parts)


def _number(value: float) -> str:
    return f"{value:.4g}" if value < 1000 else f"{value:.0f}"


def _against_limit(row: dict, ratio: float, added: float, value: float) -> str:
    if not row.get("limit"):
        return ""
    kind, limit = row["limit"]
    found = {"value": value, "added": added, "ratio": ratio}[kind]
    text = {"value": f"≤ {limit:g}", "added": f"≤ +{limit:g}", "ratio": f"≤ {limit:g}×"}[kind]
    return f"{text}: {'reached' if found <= limit else 'MISSED'}"


def _amount(size: int) -> str:
    for unit, bytes_of_it in (("GiB", 1 << 30), ("MiB", 1 << 20)):
        if size >= bytes_of_it:
            return f"{size / bytes_of_it:.3g} {unit}"
    return f"{size / 1024:.3g} KiB"


def _measured(row: dict) -> str:
    found = row.get("measured")
    return f"{found['tensors']}, {_amount(found['bytes'])}" if found else ""


def group_table(result: dict) -> str:
    """One group, measured once: a heading, who measured, and a row a variant."""
    unit = result["unit"]
    has_measured = any(row.get("measured") for row in result["rows"])
    lines = [
        f"**{result['title']}**",
        "",
        f"{result['when']}, {result['repetitions']} interleaved repetitions, load {result['load']:.1f} at the start; "
        f"library {result['library']}.",
        "",
        f"| | {unit.replace('us', 'µs')}, median | lowest to highest | against {result['rows'][0]['name']} | more | "
        + ("tensors measured, of | " if has_measured else "")
        + "reach |",
        "|---|---|---|---|---|---|" + "---|" * has_measured,
    ]
    base = statistics.median(result["rows"][0]["values"]) / UNITS[unit]
    for row in result["rows"]:
        if not row["values"]:
            lines.append(f"| {row['name']} | failed |" + " |" * (4 + has_measured))
            continue
        values = [value / UNITS[unit] for value in row["values"]]
        middle = statistics.median(values)
        ratio, added = middle / base, middle - base
        against = ("", "") if row is result["rows"][0] else (f"{ratio:.3f}×", f"{added:+.3g}")
        cells = (
            row["name"], _number(middle), f"{_number(min(values))} to {_number(max(values))}", *against,
            *([_measured(row)] if has_measured else []), _against_limit(row, ratio, added, middle),
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def read_results(path: pathlib.Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines() if line]


def newest(results: list[dict]) -> dict[str, list[dict]]:
    """For each machine the newest result of each group, in the order in which the groups were first measured."""
    machines: dict[str, dict[str, dict]] = {}
    for result in results:
        machines.setdefault(machine_line(result["machine"]), {})[result["group"]] = result
    return {machine: list(groups.values()) for machine, groups in machines.items()}


def write_docs(results: pathlib.Path, page: pathlib.Path) -> None:
    parts = []
    for machine, groups in newest(read_results(results)).items():
        parts += [f"### {machine}", *map(group_table, groups)]
    before, rest = page.read_text().split(BEGIN)
    _, after = rest.split(END)
    page.write_text(before + BEGIN + "\n" + "\n\n".join(parts) + "\n" + END + after)
