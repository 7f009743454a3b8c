"""Level 1 on released packages: torch loads every file and compares it with independent sources. These are
the script's inputs and weights, digests of its results, PyTorch's printer on the recompiled model
(parity.py), and ops repeated in eager torch. The options follow, each on one small model. Three models are
judged by PyTorch's saved files, or all with AOTI_DBGTEST_SAVING=all, which takes ten seconds per model the
first time.
"""

from __future__ import annotations

import collections
import hashlib
import json
import os
import pathlib
import re
import tempfile
import unittest
import urllib.parse

import torch

import models
import packages
import parity
import support
import victim
from saved_tensors import (
    TITLES, Saved, SavedByPyTorch, drawn, is_drawn_alike, is_same, is_unwritten, pytorch_keeps,
)  # fmt: skip

# The only weight that a model writes: the number of its runs.
COUNTER = "calls"
# The weights of frozen_conv packed by mkldnn, before and after. torch itself cannot read their bytes.
PACKED = {"unknown": 4}


def results(outcome: support.Outcome) -> list[tuple[str, str]]:
    """Return the models and the digest of each run's results."""
    lines = (line.split() for line in outcome.stdout.splitlines())
    return [(words[1], words[2]) for words in lines if words[:1] == ["result"]]


class OnDisk(support.Test):
    def run_saving(self, *arguments: str, code: int = 0, out: str = "out", **environment: str) -> Saved:
        environment = {"AOTI_DBG_LEVEL": "1", "AOTI_DBG_OUT": str(self.folder / out), **environment}
        outcome = support.run_victim(*arguments, folder=self.folder, preload=True, **environment)
        self.assertEqual(outcome.code, code, outcome.stderr)
        return Saved(self.folder / out / "tensors")

    def assert_whole(self, saved: Saved, others: frozenset[str] = frozenset()) -> None:
        """Check that the index and the folder agree, that each file matches its index entry, and that
        equal contents are stored once. The folder also contains `others`."""
        self.assertEqual(saved.rest, "")
        self.assertEqual(saved.header["format"], "aoti-dbg-tensors")
        self.assertEqual((saved.end["event"], saved.end["how"]), ("end", "complete"))
        counts = saved.end["counts"]
        self.assertEqual(counts["files"], len(saved.files))
        sizes = {path.stat().st_ino: path.stat().st_size for path in saved.on_disk()}
        self.assertEqual(counts["bytes"], sum(sizes.values()))
        self.assertEqual(len(set(saved.all_paths)), len(saved.all_paths))
        there = {str(path.relative_to(saved.root)) for path in saved.root.rglob("*") if not path.is_dir()}
        self.assertEqual(there - {"index.jsonl"}, saved.paths() | others)
        for file in saved.files:
            self.assert_as_indexed(saved, file)
        self.assert_equal_ones_are_links(saved)

    def assert_as_indexed(self, saved: Saved, file: dict) -> None:
        path = file["path"]
        tensor = saved.load(path)
        self.assertEqual(str(tensor.dtype).removeprefix("torch."), file["dtype"], path)
        self.assertEqual(list(tensor.shape), file["sizes"], path)
        self.assertEqual(list(tensor.stride()), file["strides"], path)
        self.assertEqual(tensor.storage_offset(), file["storage_offset"], path)
        in_file = file.get("saved_storage_bytes", file["storage_bytes"])
        self.assertEqual(tensor.untyped_storage().nbytes(), in_file, path)
        self.assertEqual(str(tensor.device), file["device"], path)
        self.assertEqual((saved.root / path).stat().st_size, file["bytes"], path)

    def assert_equal_ones_are_links(self, saved: Saved) -> None:
        inodes, contents, written = {}, {}, collections.defaultdict(list)
        for file in saved.files:
            path = saved.root / file["path"]
            inode = path.stat().st_ino
            inodes[file["path"]] = inode
            if inode not in contents:
                contents[inode] = hashlib.sha256(path.read_bytes()).digest()
            if "linked_to" not in file:
                written[inode].append(file["path"])
        for file in saved.files:
            if "linked_to" in file:
                self.assertIn(file["linked_to"], saved.all_paths)
                # If runs are removed, the first name of a file may have been removed with one.
                self.assertEqual(inodes.get(file["linked_to"], inodes[file["path"]]), inodes[file["path"]])
        # Removing a run may remove a file, which is then written again. The lines of the removal may be
        # missing, too.
        if not saved.end.get("removed"):
            self.assertEqual(len(set(contents.values())), len(contents), "written twice")
            self.assertEqual([names for names in written.values() if len(names) != 1], [])
            self.assertEqual(saved.end["counts"]["linked"], len(saved.files) - len(contents))


class Values(OnDisk):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        place = pathlib.Path(folder.name)
        cls.judged = packages.with_variant(packages.STATISTICS)
        cls.names = [*cls.judged, *packages.not_measured()]
        judge = support.run_victim("sweep", "statistics", "-", *cls.judged, folder=place, preload=False)
        assert judge.code == 0, judge.stderr
        printed = parity.by_model(parity.as_printed_since_2_7(judge.stdout, support.compiled_by))
        cls.theirs = {name: parity.runs_of(parity.read_records(text)) for name, text in printed.items()}
        # The printed small tensors are judged here, and the rest of a record by parity.
        cls.drawings = {name: [cls.take_drawings(run) for run in runs] for name, runs in cls.theirs.items()}
        cls.kept = packages.with_variant(packages.SAVING)
        cls.place = place / "kept"
        cls.place.mkdir()
        cls.keeper = support.run_victim("sweep_apart", "saving", *cls.kept, folder=cls.place, preload=False)
        assert cls.keeper.code == 0, cls.keeper.stderr
        cls.bare = support.run_victim("sweep", "released", "-", *cls.names, folder=place, preload=False)
        cls.seen, cls.saved = cls.sweep(place / "alone", "1", *cls.names)
        cls.beside = cls.sweep(place / "beside", "stats,files", *cls.judged)[1]
        cls.events = [json.loads(line) for line in (place / "beside" / "events.jsonl").read_text().splitlines()]
        # Maps the runs of the process to models.
        cls.cases = {name: models.build(name) for name in cls.names}
        runs = iter(range(1000))
        cls.runs = {
            name: [(next(runs), inputs) for inputs in (case.inputs, *case.more_inputs)]
            for name, case in cls.cases.items()
        }  # fmt: skip

    @staticmethod
    def take_drawings(run: list[parity.Record]) -> list[tuple[str, list[str]]]:
        """Take the printed elements, except those of memory that nothing had written."""
        taken = [(record.title, [] if parity.is_unwritten(run, at) else record.values) for at, record in enumerate(run)]
        for record in run:
            record.values = []
        return taken

    @classmethod
    def sweep(cls, out: pathlib.Path, level: str, *names: str) -> tuple[support.Outcome, Saved]:
        out.mkdir()
        outcome = support.run_victim(
            "sweep", "released", "-", *names, folder=out.parent, preload=True, AOTI_DBG_LEVEL=level,
            AOTI_DBG_OUT=str(out),
        )  # fmt: skip
        assert outcome.code == 0, outcome.stderr
        return outcome, Saved(out / "tensors")

    def test_the_models_compute_what_they_compute_without_us(self):
        self.assert_alike(self.bare, self.seen)

    def test_every_file_is_what_the_index_says_and_equal_ones_are_links(self):
        self.assert_whole(self.saved)
        self.assertEqual(self.saved.end["left_out"], PACKED)
        self.assertGreater(self.saved.end["counts"]["linked"], 0)
        self.assertTrue({"float32", "float64", "int64", "bool", "complex64"} <= {f["dtype"] for f in self.saved.files})
        self.assertTrue(any(file["storage_offset"] for file in self.saved.files))

    def test_the_same_is_saved_beside_level_2(self):
        self.assertEqual((self.beside.end["how"], self.beside.end["left_out"]), ("complete", PACKED))
        runs = [run for name in self.judged for run, _ in self.runs[name]]
        self.assertEqual(self.beside.paths(), {file["path"] for run in runs for file in self.saved.of(run)})

    def test_all_that_pytorch_prints_is_saved_and_says_the_same(self):
        for name in self.judged:
            with self.subTest(name):
                ours = [self.saved.records(run) for run, _ in self.runs[name]]
                judged, wrong = parity.compare(ours, self.theirs[name])
                self.assertEqual(wrong, [])
                self.assertGreater(judged, 0)

    def test_elements_are_those_that_pytorch_draws_in_its_order(self):
        judged = collections.Counter()
        for name, drawings in self.drawings.items():
            for (run, _), drawing in zip(self.runs[name], drawings, strict=True):
                rest = iter(self.saved.records(run))
                for title, lines in drawing:
                    found = next(record for record in rest if record.title == title)
                    numbers, scale = drawn(lines)
                    if numbers and not found.tensor.is_complex():
                        judged[name] += 1
                        alike = is_drawn_alike(found.tensor, numbers, scale)
                        self.assertTrue(alike, f"{name}, {title}: {found.tensor} for {lines}")
        self.assertEqual(set(judged), set(self.judged))

    @support.as_decided_by_2_11
    def test_files_have_the_bits_that_pytorch_saves(self):
        """PyTorch saves only arguments that are named like a buffer or an input, and skips some ops
        entirely."""
        self.assertLessEqual(set(results(self.keeper)), set(results(self.bare)), "it computes something else")
        for name in self.kept:
            judged = collections.Counter()
            for count, (run, _) in enumerate(self.runs[name]):
                theirs, ours = SavedByPyTorch(self.place / f"{name}-{count}"), self.saved.of(run)
                for their_name in theirs.files:
                    tensor = theirs.load(their_name)
                    at = pytorch_keeps(ours, their_name, tensor)
                    if not is_unwritten(ours, at):
                        judged[ours[at]["side"]] += 1
                        path = ours[at]["path"]
                        self.assertTrue(is_same(self.saved.load(path), tensor), f"{path} for {name}, {their_name}")
            self.assertEqual(set(judged), {"before", "after"}, name)

    def test_inputs_are_what_the_script_gave(self):
        for name, runs in self.runs.items():
            for run, inputs in runs:
                given = torch.utils._pytree.tree_leaves(inputs)
                files = self.saved.of(run, side="inputs")
                self.assertEqual([file["position"] for file in files], list(range(len(given))), name)
                for file, tensor in zip(files, given, strict=True):
                    self.assertTrue(is_same(self.saved.load(file["path"]), tensor), file["path"])

    def test_outputs_are_what_the_script_got(self):
        saved = []
        for name, runs in self.runs.items():
            for run, _ in runs:
                outputs = [self.saved.load(file["path"]) for file in self.saved.of(run, side="outputs")]
                saved.append((name, victim.digest(outputs)))
        self.assertEqual(saved, results(self.bare))

    def test_weights_are_the_modules_own(self):
        names = {event["id"]: event["fqn"] for event in self.events if event["event"] == "argument" and event["fqn"]}
        fqns = {}
        for call in (event for event in self.events if event["event"] == "call"):
            for argument in call.get("arguments", []):
                if argument["argument"] in names:
                    fqns[call["model"], argument["label"]] = names[argument["argument"]]
        judged = collections.defaultdict(set)
        for at, (name, runs) in enumerate(self.runs.items()):
            own = self.cases[name].module.state_dict()
            for count, file in ((count, file) for count, (run, _) in enumerate(runs) for file in self.saved.of(run)):
                fqn = fqns.get((file["model"], file["label"]))
                if fqn is None:
                    continue
                self.assertEqual(file["model"], at)
                tensor = self.saved.load(file["path"])
                judged[name].add(fqn)
                weight = own[fqn] + count + (file["side"] == "after") if fqn == COUNTER else own[fqn]
                weight = weight.as_strided(file["sizes"], file["strides"], file["storage_offset"])
                self.assertTrue(is_same(tensor, weight), file["path"])
        expected = {name: set(case.module.state_dict()) for name, case in self.cases.items() if case.module.state_dict()}
        expected["linear_softmax"].remove("second.bias")  # It is small enough to be part of the kernel's code.
        expected["frozen_conv"] = {"head.bias"}  # The others are folded and packed, and are no longer tensors.
        self.assertEqual(judged, expected)

    @support.as_decided_by_2_11
    def test_calls_done_again_in_eager_torch_give_what_was_saved(self):
        """Intermediate tensors must have the same bits."""
        ((run, _),) = self.runs["custom_op"]
        calls = self.saved.of(run, side="after", kernel="mylib::my_op")
        self.assertEqual([file["label"] for file in calls], ["buf0", "buf2", "buf2", "buf4"])
        for given, made, scale in ((*calls[:2], 2.5), (*calls[2:], -1.0)):
            again = torch.ops.mylib.my_op(self.saved.load(given["path"]), scale)
            self.assertTrue(is_same(self.saved.load(made["path"]), again), made["path"])
        ((run, _),) = self.runs["fallback_ops"]
        kernel = "at::_ops::sort_stable::call"
        ordered, places = torch.sort(self.saved.one(run, side="before", kernel=kernel), stable=True)
        self.assertTrue(is_same(self.saved.one(run, side="after", kernel=kernel, label="buf1"), ordered))
        self.assertTrue(is_same(self.saved.one(run, side="after", kernel=kernel, label="buf2"), places))


class Options(OnDisk):
    ALL = 28  # tensors of linear_softmax, which has four calls

    def test_os_exit_right_after_the_run_leaves_all_of_it(self):
        saved = self.run_saving("exit_now", "7", code=7)
        self.assert_whole(saved)
        self.assertEqual(len(saved.files), self.ALL)

    def test_a_second_program_overwrites_nothing_in_pytorchs_flat_folder(self):
        flat = self.folder / "flat"
        environment = {"AOTI_DBG_PT_LAYOUT": "torch", "AOTI_TORCH_SAVE_DIR": str(flat)}
        first = self.run_saving("one", "linear_softmax", out="first", **environment)
        self.assert_whole(first)
        self.assertEqual(len(first.files), self.ALL)
        self.assertIn("before_launch_aoti_torch_cpu_addmm_out_first_weight_cpu.pt", first.paths())
        before = {path: (flat / path).read_bytes() for path in first.paths()}
        second = self.run_saving("one", "linear_softmax", out="second", **environment)
        self.assert_whole(second, others=frozenset(before))
        self.assertEqual(second.paths(), {path.removesuffix(".pt") + ".2.pt" for path in before})
        self.assertEqual({path: (flat / path).read_bytes() for path in before}, before)

    def test_the_options_decide_which_runs_stay(self):
        """Five runs with `last:2` keep the last two. `finding` keeps the run with a fully masked row,
        where softmax yields NaN."""
        every = self.run_saving("masked", *"causal row causal causal causal".split(), out="every")
        self.assertEqual({file["run"] for file in every.files}, set(range(5)))
        for runs, options in (
            ((3, 4), {"AOTI_DBG_KEEP": "last:2"}),
            ((1,), {"AOTI_DBG_SAVE_ON": "finding", "AOTI_DBG_CHECK": "nan"}),
        ):
            with self.subTest(options):
                some = self.run_saving("masked", *"causal row causal causal causal".split(), out=f"{runs}", **options)
                self.assert_whole(some)
                self.assertEqual(some.paths(), {file["path"] for run in runs for file in every.of(run)})
                self.assertEqual(sorted(os.listdir(some.root)), ["index.jsonl", *(f"run{run:04}" for run in runs)])
        ((_, keep),) = models.build("masked_attention").more_inputs
        softmax = next(file for file in some.of(1, side="after") if "softmax" in file["kernel"])
        made = some.one(1, side="after", kernel=softmax["kernel"], label="buf6")
        self.assertEqual(made.isnan().all(1).tolist(), (~keep.any(1)).tolist())

    def test_portable_names_have_nothing_that_others_refuse_and_say_the_same(self):
        saved = self.run_saving("one", "fallback_ops", AOTI_DBG_PORTABLE_NAMES="1")
        self.assert_whole(saved)
        self.assertTrue(any("%3A%3A" in path for path in saved.paths()))
        for file in saved.files:
            self.assertEqual(set(file["path"]) & set('":<>|*?\\'), set())
            side = TITLES.get(file["side"]) or f"{file['side']}_launch_{file['kernel']}"
            # A call may have a tensor twice.
            name = re.sub(r"(\.2)?\.pt$", "", pathlib.PurePath(file["path"]).name)
            self.assertEqual(urllib.parse.unquote(name), f"{side}_{file['label']}_{file['device']}")

    def test_filters_leave_what_they_name(self):
        every = self.run_saving("one", "linear_softmax", out="every").files
        self.assertEqual(len(every), self.ALL)
        for option, value, is_expected in (
            ("KERNELS", "cpp_fused_relu_*", lambda file: file.get("kernel", "cpp_fused_relu_0") == "cpp_fused_relu_0"),
            ("SIDE", "after", lambda file: file["side"] in ("after", "outputs")),
            # Selects by label and by the name in the model.
            ("TENSORS", "first_*,buf1,!*.bias", lambda file: file["label"] in ("first_weight", "buf1")),
        ):
            with self.subTest(option=option):
                some = self.run_saving("one", "linear_softmax", out=option, **{f"AOTI_DBG_{option}": value})
                self.assert_whole(some)
                self.assertEqual(some.paths(), {file["path"] for file in every if is_expected(file)})


if __name__ == "__main__":
    unittest.main(verbosity=2)
