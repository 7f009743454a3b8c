"""The results of scripts/release-check, in tests/models/releases.json: per release of PyTorch what each test found,
on how many models.

    releases.py record RUN MODELS TEST=passed|failed...    adds results; RUN is "2.15.0" or
                                                           "2.15.0 with models of 2.9.1"
    releases.py table                                      prints them as a Markdown table
"""

import json
import pathlib
import sys

results_file = pathlib.Path(__file__).resolve().parents[2] / "tests/models/releases.json"
# What users call what a test of tests/models checks.
COLUMNS = {
    "saving": "level 1",
    "stats": "level 2",
    "names": "level 3",
    "findings": "NaN and Inf",
    "checks": "arguments",
    "transparency": "results unchanged",
    "triage": "crash report",
}
WORDS = {"passed": "yes", "failed": "no"}
# Packages of earlier releases do not describe their inputs, so the tests that need this are skipped.
DESCRIBES_INPUTS = [2, 8]


def read():
    return json.loads(results_file.read_text()) if results_file.exists() else {}


def order(run):
    """Orders "2.15.0" before "2.15.0 with models of 2.9.1"."""
    version, _, maker = run.partition(" ")
    return [int(part) for part in version.split(".")], maker


def record(run, models, *tests):
    results = read()
    release = results.setdefault(run, {"tests": {}})
    release["models"] = int(models)
    release["tests"].update(dict(test.split("=") for test in tests))
    text = json.dumps({key: results[key] for key in sorted(results, key=order)}, indent=2)
    results_file.write_text(text + "\n")


def cell(run, test, result):
    """What the table says about a result."""
    compiled_by = order(run.rpartition(" ")[2])[0]
    if test == "checks" and result == "passed" and compiled_by < DESCRIBES_INPUTS:
        return "all but inputs"
    return WORDS.get(result, "not tried")


def table():
    print("| PyTorch | models | " + " | ".join(COLUMNS.values()) + " |")
    print("|---|---" + "|---" * len(COLUMNS) + "|")
    for run, release in read().items():
        cells = [cell(run, test, release["tests"].get(test, "")) for test in COLUMNS]
        print(f"| {run} | {release['models']} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    {"record": record, "table": table}[sys.argv[1]](*sys.argv[2:])
