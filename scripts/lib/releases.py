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


def table():
    print("| PyTorch | models | " + " | ".join(COLUMNS.values()) + " |")
    print("|---|---" + "|---" * len(COLUMNS) + "|")
    for run, release in read().items():
        cells = [WORDS.get(release["tests"].get(test, ""), "not tried") for test in COLUMNS]
        print(f"| {run} | {release['models']} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    {"record": record, "table": table}[sys.argv[1]](*sys.argv[2:])
