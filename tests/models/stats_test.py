"""Level 2 on released packages, against the same models compiled with PyTorch's printer at level 2.

Every record of PyTorch's must be among ours, in order, for the same kernel and under the same label, and say the same.
What a buffer holds that no call has written yet is nobody's business: such records must be there, no more.
"""

from __future__ import annotations

import math
import pathlib
import re
import struct
import tempfile
import unittest

import packages
import support

title_line = re.compile(r"^\[  (?P<title>(?:before_launch|after_launch|aoti_model_inputs) - .*?)  \]:$")


class Record:
    def __init__(self, title: str):
        self.title, self.values, self.fields = title, [], {}

    def number(self, field: str) -> float:
        return float(self.fields[field])


def read_records(text: str) -> list[Record]:
    records: list[Record] = []
    is_open = False
    for line in text.splitlines():
        if match := title_line.match(line):
            records.append(Record(match["title"]))
            is_open = True
        elif is_open and not line and "Requires grad" in records[-1].fields:
            is_open = False
        elif is_open and line.startswith("[INFO]"):
            records[-1].fields["repeated"] = ""
        elif is_open and (match := re.match(r"^([A-Z][A-Za-z ]+): (.*)$", line)):
            records[-1].fields[match[1]] = match[2]
        elif is_open and "repeated" not in records[-1].fields:
            records[-1].values.append(line)
    return records


def by_model(text: str) -> dict[str, str]:
    parts = re.split(r"^model (\w+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def as_float32(value: float) -> float:
    return struct.unpack("f", struct.pack("f", value))[0]


def unit_of_last_digit(text: str) -> float:
    """Of a number printed with six significant digits."""
    value = abs(float(text))
    return 10.0 ** (int(f"{value:e}".split("e")[1]) - 5) if value else 0.0


def differences(ours: Record, theirs: Record) -> list[str]:
    found = []
    for field in ("Number of elements", "Dtype", "Device", "Size", "Stride", "Layout", "Is contiguous", "Requires grad"):
        if ours.fields.get(field) != theirs.fields.get(field):
            found.append(f"{field}: {ours.fields.get(field)} for {theirs.fields.get(field)}")
    if found or "complex" in theirs.fields["Dtype"]:
        return found
    if ours.values != theirs.values:
        found.append(f"values: {ours.values} for {theirs.values}")
    for field in ("Min value", "Max value"):
        if field in theirs.fields and f"{as_float32(ours.number(field)):g}" != theirs.fields[field]:
            found.append(f"{field}: {ours.fields[field]} for {theirs.fields[field]}")
    if "Mean value" in theirs.fields:
        # The mean of the magnitudes is not printed; it is at most the root of the mean square.
        count = int(ours.fields["Number of elements"])
        spread = ours.number("Std value") ** 2 * (count - 1) / count if count > 1 else 0.0
        magnitude = math.sqrt(ours.number("Mean value") ** 2 + spread)
        allowed = 1e-5 * magnitude + unit_of_last_digit(theirs.fields["Mean value"])
        if not abs(ours.number("Mean value") - theirs.number("Mean value")) <= allowed:
            found.append(f"Mean value: {ours.fields['Mean value']} for {theirs.fields['Mean value']}")
    return found


def is_unwritten(theirs: list[Record], at: int) -> bool:
    """A buffer before the first call that has it: nothing wrote to it yet."""
    title = theirs[at].title
    if not title.startswith("before_launch - "):
        return False
    label = title.rsplit(" - ", 1)[1]
    begin = max((i for i in range(at) if theirs[i].title.startswith("aoti_model_inputs")), default=0)
    first = next(i for i in range(begin, at + 1) if theirs[i].title.rsplit(" - ", 1)[1] == label)
    return label.startswith("buf") and first == at


class Statistics(support.Test):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        place = pathlib.Path(folder.name)
        names = packages.STATISTICS_MODELS
        cls.judge = support.run_victim("sweep", "statistics", "-", *names, folder=place, preload=False)
        assert cls.judge.code == 0, cls.judge.stderr
        cls.bare = support.run_victim("sweep", "released", "-", folder=place, preload=False)
        assert cls.bare.code == 0, cls.bare.stderr
        cls.seen = support.run_victim("sweep", "released", "-", folder=place, preload=True, AOTI_DBG_LEVEL="2")
        assert cls.seen.code == 0, cls.seen.stderr
        (log,) = cls.seen.log.parent.glob(cls.seen.log.name)
        cls.log = log.read_text()
        cls.ours = {}
        for name in names:
            outcome = support.run_victim(
                "sweep", "released", "-", name, folder=place, preload=True, AOTI_DBG_LEVEL="2",
                AOTI_DBG_LOG=str(place / f"{name}.log"),
            )  # fmt: skip
            assert outcome.code == 0, outcome.stderr
            cls.ours[name] = read_records((place / f"{name}.log").read_text())
        cls.theirs = {name: read_records(text) for name, text in by_model(cls.judge.stdout).items()}

    def test_the_judge_printed_something_for_every_model(self):
        self.assertEqual(set(self.theirs), set(packages.STATISTICS_MODELS))
        for name, records in self.theirs.items():
            self.assertTrue(records, name)

    def test_every_record_of_pytorch_is_among_ours_in_order_and_says_the_same(self):
        for name in packages.STATISTICS_MODELS:
            with self.subTest(name):
                ours, theirs, judged = iter(self.ours[name]), self.theirs[name], 0
                for at, wanted in enumerate(theirs):
                    found = next((record for record in ours if record.title == wanted.title), None)
                    self.assertIsNotNone(found, f"{wanted.title} (record {at}) is not there")
                    if is_unwritten(theirs, at):
                        continue
                    judged += 1
                    self.assertEqual(differences(found, wanted), [], f"{wanted.title} (record {at})")
                self.assertGreater(judged, 0)

    def test_weights_are_there_by_their_names_though_pytorch_leaves_them_out(self):
        titles = {record.title for record in self.ours["linear_softmax"]}
        self.assertIn("before_launch - aoti_torch_cpu_addmm_out - first_weight", titles)
        self.assertNotIn("first_weight", {record.title.rsplit(" - ")[-1] for record in self.theirs["linear_softmax"]})

    def test_custom_ops_are_there_with_what_they_made_after_the_call_only(self):
        titles = [record.title for record in self.ours["custom_op"]]
        self.assertIn("before_launch - mylib::my_op - buf0", titles)
        self.assertIn("after_launch - mylib::my_op - buf2", titles)
        first = titles.index("after_launch - mylib::my_op - buf2")
        self.assertNotIn("before_launch - mylib::my_op - buf2", titles[:first])

    def test_names_are_not_printed_unless_asked_for(self):
        self.assertEqual(support.launches(self.log), [])
        both = support.run_victim(
            "one", "linear_softmax", folder=self.folder, preload=True, AOTI_DBG_LEVEL="names,stats"
        )
        (log,) = both.log.parent.glob(both.log.name)
        text = log.read_text()
        self.assertEqual(len(support.launches(text)), 8)
        self.assertEqual([record.title for record in read_records(text)],
                         [record.title for record in self.ours["linear_softmax"]])  # fmt: skip

    def test_the_models_compute_what_they_compute_without_us(self):
        self.assert_alike(self.bare, self.seen)


if __name__ == "__main__":
    unittest.main(verbosity=2)
