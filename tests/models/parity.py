"""Compares level 2's output for a released package with PyTorch's printer for the same model. Each of
PyTorch's records must be among ours, in order, with the same kernel, label and contents. The contents of a
buffer that no call has written are undefined: only the record must exist.

As a program, for machines whose Python lacks torch: `parity.py PRINTED LOG` compares model by model. PRINTED
has `model NAME` before each. It must never import torch.
"""

from __future__ import annotations

import itertools
import math
import pathlib
import re
import struct
import sys

TITLE = re.compile(
    r"^\[  (?P<title>(?:before_launch|after_launch|aoti_model_inputs|aoti_model_outputs) - .*?)  \]:$"
)
ALIKE = ("Number of elements", "Dtype", "Device", "Size", "Stride", "Layout", "Is contiguous", "Requires grad")


class Record:
    def __init__(self, title: str):
        self.title, self.values, self.fields = title, [], {}

    def number(self, field: str) -> float:
        return float(self.fields[field])

    @property
    def side(self) -> str:
        return self.title.split(" - ", 1)[0]

    @property
    def label(self) -> str:
        return self.title.rsplit(" - ", 1)[1]


def read_records(text: str) -> list[Record]:
    records: list[Record] = []
    is_open = False
    # PyTorch's printer ends a scalar's line with a backslash and an n, which joins it to the next record.
    for line in text.replace("  ]\\n", "  ]\n").splitlines():
        if match := TITLE.match(line):
            records.append(Record(match["title"]))
            is_open = True
        elif is_open and not line and "Requires grad" in records[-1].fields:
            is_open = False
        elif is_open and line.startswith("[INFO]"):
            records[-1].fields["repeated"] = ""
        elif is_open and (match := re.match(r"^([A-Z][A-Za-z/ ]+): (.*)$", line)):
            records[-1].fields[match[1]] = match[2]
        elif is_open and "repeated" not in records[-1].fields:
            records[-1].values.append(line)
    return records


def as_printed_since_2_7(text: str, release: tuple[int, int]) -> str:
    """Return PyTorch's records in the words of later releases. 2.6 labels a tensor with the call that copies it,
    and calls float32 a float."""
    if release >= (2, 7):
        return text
    text = re.sub(r" - copy_arrayref_tensor_to_tensor\((\w+)\)  \]", r" - \1  ]", text)
    return re.sub(r"^Dtype: float$", "Dtype: float32", text, flags=re.MULTILINE)


def by_model(text: str) -> dict[str, str]:
    parts = re.split(r"^model (\S+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def runs_of(records: list[Record]) -> list[list[Record]]:
    """Split the records into runs. Each begins with the model's inputs."""
    runs: list[list[Record]] = []
    for before, record in zip([None, *records], records):
        if record.side == "aoti_model_inputs" and (before is None or before.side != record.side):
            runs.append([])
        if runs:
            runs[-1].append(record)
    return runs


def as_float32(value: float) -> float:
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def six_digits(value: float) -> str:
    """Format a number like C++. NaN loses its sign, which has no meaning."""
    return "nan" if math.isnan(value) else f"{value:g}"


def unit_of_last_digit(text: str) -> float:
    """Return the unit of the last digit of a number printed with six significant digits."""
    value = abs(float(text))
    return 10.0 ** (int(f"{value:e}".split("e")[1]) - 5) if value else 0.0


def differences(ours: Record, theirs: Record) -> list[str]:
    found = []
    for field in ALIKE:
        if ours.fields.get(field) != theirs.fields.get(field):
            found.append(f"{field}: {ours.fields.get(field)} for {theirs.fields.get(field)}")
    if found or "complex" in theirs.fields["Dtype"]:
        return found
    if ours.values != theirs.values:
        found.append(f"values: {ours.values} for {theirs.values}")
    for field in ("Min value", "Max value"):
        if field in theirs.fields and six_digits(as_float32(ours.number(field))) != six_digits(theirs.number(field)):
            found.append(f"{field}: {ours.fields[field]} for {theirs.fields[field]}")
    if "Mean value" in theirs.fields and not is_mean_alike(ours, theirs):
        found.append(f"Mean value: {ours.fields['Mean value']} for {theirs.fields['Mean value']}")
    return found


def is_mean_alike(ours: Record, theirs: Record) -> bool:
    mine, other = ours.number("Mean value"), theirs.number("Mean value")
    if not (math.isfinite(mine) and math.isfinite(other)):
        return six_digits(mine) == six_digits(other)
    # The mean magnitude is not printed. It is at most the root of the mean square.
    count = int(ours.fields["Number of elements"])
    spread = ours.number("Std value") ** 2 * (count - 1) / count if count > 1 else 0.0
    allowed = 1e-5 * math.sqrt(mine**2 + spread) + unit_of_last_digit(theirs.fields["Mean value"])
    return abs(mine - other) <= allowed


def is_unwritten(run: list[Record], at: int) -> bool:
    """Whether this is a buffer before its first call, so that nothing has written it."""
    record = run[at]
    if record.side != "before_launch" or not record.label.startswith("buf"):
        return False
    return all(other.label != record.label for other in run[:at])


def is_never_launched(run: list[Record], at: int) -> bool:
    """PyTorch prints a Triton kernel whose grid is empty, but the wrapper does not launch it."""
    kernel = run[at].title.split(" - ", 2)[1]
    of_kernel = [record for record in run if kernel in record.title.split(" - ")]
    return kernel.startswith("triton_") and any(record.fields.get("Number of elements") == "0" for record in of_kernel)


def same_title(ours: list[Record], begin: int, title: str) -> list[int]:
    """Return the first place with this title, and the others of the same call. A call may get a buffer and
    views of it. PyTorch prints only the buffer. We print each of them under the buffer's name."""
    first = next((place for place in range(begin, len(ours)) if ours[place].title == title), None)
    if first is None:
        return []
    launch = title.rsplit(" - ", 1)[0]
    places = itertools.takewhile(lambda place: ours[place].title.startswith(f"{launch} - "), range(first, len(ours)))
    return [place for place in places if ours[place].title == title]


def compare_run(ours: list[Record], theirs: list[Record]) -> tuple[int, list[str]]:
    """Return the number of compared records and the differences."""
    passed, judged, wrong = 0, 0, []
    for at, expected in enumerate(theirs):
        places = same_title(ours, passed, expected.title)
        if not places and is_never_launched(theirs, at):
            continue
        if not places:
            return judged, [*wrong, f"{expected.title} (record {at}) is not there"]
        if is_unwritten(theirs, at):
            passed = places[0] + 1
            continue
        place = next((place for place in places if not differences(ours[place], expected)), places[0])
        found, passed = ours[place], place + 1
        judged += 1
        wrong += [f"{expected.title} (record {at}): {difference}" for difference in differences(found, expected)]
    return judged, wrong


def compare(ours: list[list[Record]], theirs: list[list[Record]]) -> tuple[int, list[str]]:
    """Compare the runs of a model."""
    if len(ours) != len(theirs):
        return 0, [f"{len(ours)} runs, of which PyTorch printed {len(theirs)}"]
    judged, wrong = 0, []
    for number, (mine, other) in enumerate(zip(ours, theirs)):
        count, found = compare_run(mine, other)
        judged += count
        wrong += [f"run {number}: {line}" for line in found]
    return judged, wrong if judged else [*wrong, "nothing was judged"]


def main(printed: str, log: str) -> int:
    theirs = {name: runs_of(read_records(text)) for name, text in by_model(pathlib.Path(printed).read_text()).items()}
    ours = runs_of(read_records(pathlib.Path(log).read_text()))
    expected = sum(map(len, theirs.values()))
    if not expected or len(ours) != expected:
        print(f"{len(ours)} runs in our log, {expected} printed by PyTorch")
        return 1
    good, total, taken = True, 0, 0
    for name, runs in theirs.items():
        judged, wrong = compare(ours[taken : taken + len(runs)], runs)
        taken, total, good = taken + len(runs), total + judged, good and not wrong
        print(f"{name}: {judged} records alike" if not wrong else "\n".join([f"{name}:", *wrong[:20]]))
    print(f"note: {len(theirs)} models, {total} records judged")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
