"""Level 2 on released packages, compared with the same models compiled with PyTorch's printer at level 2
(parity.py). PyTorch's printer rounds everything to float32, so torch itself judges the other digits.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import tempfile
import unittest
import zipfile

import quick_imports

with quick_imports.uncollected():
    import torch

import models
import packages
import parity
import support


def count(name: str) -> int:
    """Return the number of runs in a sweep."""
    return 1 + len(models.build(name).more_inputs)


class Statistics(support.Test):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        place = pathlib.Path(folder.name)
        cls.names = packages.with_variant(packages.STATISTICS)
        everything = [*cls.names, *packages.not_measured()]
        cls.judge = support.run_victim("sweep", "statistics", "-", *cls.names, folder=place, preload=False)
        assert cls.judge.code == 0, cls.judge.stderr
        cls.bare = support.run_victim("sweep", "released", "-", *everything, folder=place, preload=False)
        assert cls.bare.code == 0, cls.bare.stderr
        cls.out = place / "out"
        cls.seen = support.run_victim(
            "sweep", "released", "-", *everything, folder=place, preload=True, AOTI_DBG_LEVEL="2",
            AOTI_DBG_OUT=str(cls.out),
        )  # fmt: skip
        assert cls.seen.code == 0, cls.seen.stderr
        (log,) = cls.seen.log.parent.glob(cls.seen.log.name)
        cls.log = log.read_text()
        printed = parity.by_model(parity.as_printed_since_2_7(cls.judge.stdout, support.compiled_by))
        cls.theirs = {name: parity.runs_of(parity.read_records(text)) for name, text in printed.items()}
        runs = iter(parity.runs_of(parity.read_records(cls.log)))
        cls.ours = {name: [next(runs) for _ in range(count(name))] for name in everything}
        cls.more = list(runs)

    def titles(self, name: str) -> list[str]:
        return [record.title for run in self.ours[name] for record in run]

    def test_the_judge_printed_every_run_of_every_model(self):
        self.assertEqual({name: len(runs) for name, runs in self.theirs.items()}, {n: count(n) for n in self.names})
        self.assertEqual(self.more, [])

    def test_every_record_of_pytorch_is_among_ours_in_order_and_says_the_same(self):
        for name in self.names:
            with self.subTest(name):
                judged, wrong = parity.compare(self.ours[name], self.theirs[name])
                self.assertEqual(wrong, [])
                self.assertGreater(judged, 0)

    def test_int64_and_float64_are_what_torch_says_in_their_own_dtype(self):
        case = models.build("indices_and_masks")
        with torch.no_grad():
            results = case.module(*case.inputs)
        calls = [event for event in self.events() if event["event"] == "call"]
        sizes = [list(tensor.shape) for tensor in case.inputs]
        begin = next(at for at, call in enumerate(calls)
                     if call["side"] == "inputs" and [given["sizes"] for given in call["arguments"]] == sizes)  # fmt: skip
        end = next(call for call in calls[begin:] if call["side"] == "outputs")
        judged = set()
        for tensors, call in ((case.inputs, calls[begin]), (results, end)):
            for tensor, argument in zip(tensors, call["arguments"], strict=True):
                self.assertEqual(argument["dtype"], str(tensor.dtype).removeprefix("torch."))
                if tensor.dtype == torch.float32:
                    continue
                judged.add(argument["dtype"])
                self.assert_as_torch(tensor, argument, exactly=call is not end)
        self.assertEqual(judged, {"int64", "float64", "bool"})

    def assert_as_torch(self, tensor: torch.Tensor, argument: dict, exactly: bool) -> None:
        whole = tensor.double() if tensor.is_floating_point() else tensor.long()
        found = [argument["min"], argument["max"]]
        expected = [whole.min().item(), whole.max().item()]
        if exactly or not tensor.is_floating_point():
            self.assertEqual(found, expected, argument["label"])
        else:  # the model's order of operations differs from eager mode, so the last bits differ
            torch.testing.assert_close(torch.tensor(found), torch.tensor(expected), rtol=1e-6, atol=0.0)
        if not tensor.is_floating_point():
            self.assertEqual(argument["sum"], sum(whole.flatten().tolist()), argument["label"])
        # The mean and deviation of large, close numbers are exact after subtraction of the minimum.
        spread, mean = (whole - whole.min()).double().std().item(), whole.double().mean().item()
        self.assertAlmostEqual(argument["mean"], mean, delta=1e-9 * spread + 1e-15 * abs(mean))
        self.assertAlmostEqual(argument["std"], spread, delta=1e-9 * spread)

    def events(self) -> list[dict]:
        return [json.loads(line) for line in (self.out / "events.jsonl").read_text().splitlines()]

    def test_the_command_shows_from_the_folder_what_the_log_says(self):
        shown = subprocess.run(
            [os.environ["AOTI_DBGTEST_TOOL"], "show", "--format", "text", str(self.out)], capture_output=True,
            text=True, check=True, timeout=60,
        )  # fmt: skip
        self.assertIn("[ finding 1: ", shown.stdout)
        self.assertEqual(shown.stdout, self.log)

    def test_the_folder_keeps_what_each_package_says(self):
        kept = {path.read_text() for path in self.out.glob("evidence/*/*") if support.is_wrapper(path.name)}
        for name in self.ours:
            with zipfile.ZipFile(packages.package_path(name, packages.RELEASED)) as archive:
                (source,) = [entry for entry in archive.namelist() if support.is_wrapper(entry)]
                self.assertIn(archive.read(source).decode(), kept, name)

    def test_outputs_are_there_though_pytorch_leaves_them_out(self):
        self.assertEqual(self.titles("masked_attention").count("aoti_model_outputs - buf7"), 2)
        self.assertEqual([run[-1].side for runs in self.ours.values() for run in runs],
                         ["aoti_model_outputs" for runs in self.ours.values() for _ in runs])  # fmt: skip

    def test_weights_are_there_by_their_names_though_pytorch_leaves_them_out(self):
        self.assertIn("before_launch - aoti_torch_cpu_addmm_out - first_weight", self.titles("linear_softmax"))
        theirs = {record.label for run in self.theirs["linear_softmax"] for record in run}
        self.assertNotIn("first_weight", theirs)

    def test_custom_ops_are_there_with_what_they_made_after_the_call_only(self):
        titles = self.titles("custom_op")
        self.assertIn("before_launch - mylib::my_op - buf0", titles)
        self.assertIn("after_launch - mylib::my_op - buf2", titles)
        first = titles.index("after_launch - mylib::my_op - buf2")
        self.assertNotIn("before_launch - mylib::my_op - buf2", titles[:first])

    def test_scalars_and_strings_of_ops_are_there_by_the_names_of_their_headers(self):
        lines = self.log.splitlines()
        transform = "at::_ops::_fft_r2c::call" if support.compiled_by < (2, 14) else "aoti_torch_cpu__fft_r2c"
        # PyTorch 2.6 cannot export this model.
        counts = ["aten::bincount - minlength: 20"] if "embedding_index_put" in packages.chosen_models() else []
        for line in (
            *counts, "at::_ops::topk::call - k: 2", "at::_ops::topk::call - dim: -1", "at::_ops::topk::call - largest: 1",
            "aoti_torch_cpu_addmm_out - beta: 1", f"{transform} - dim: [1]",
            'aoti_torch_cpu_mkldnn__convolution_pointwise - attr: "relu"', 'aoti_torch_cpu__linear_pointwise - attr: "none"',
            "mylib::my_op - scale: 2.5",
        ):  # fmt: skip
            self.assertIn(f"[  before_launch - {line}  ]", lines)

    @support.as_decided_by_2_11
    def test_conjugate_tensors_are_measured_as_the_program_sees_them(self):
        imaginary = {}
        for event in self.events():
            for argument in event.get("arguments", []):
                if event["event"] == "call" and event["side"] == "outputs" and argument.get("dtype") == "complex64":
                    imaginary[argument["label"]] = [argument["imaginary"][name] for name in ("min", "max", "mean")]
        self.assertEqual(imaginary["buf6"], [-8, -2, -5])

    def test_a_buffer_and_its_view_at_one_address_have_sizes_of_their_own(self):
        after = {record.label: record for record in self.ours["views_and_bits"][0] if record.side == "after_launch"}
        self.assertEqual([after[label].fields["Size"] for label in ("buf3", "buf0")], ["[6, 1]", "[2, 1]"])
        self.assertEqual([after[label].number("Mean value") for label in ("buf3", "buf0")], [3.5, 2.5])

    @support.as_decided_by_2_11
    def test_kernels_over_no_elements_show_their_tensors(self):
        (empty,) = [run for run in self.ours["dynamic_batch"] if run[0].fields["Size"] == "[0, 12]"]
        kernel = {record.label for record in empty if "cpp_fused" in record.title}
        self.assertTrue({"buf0", "buf1", "arg2_1"} <= kernel, kernel)

    def test_names_are_not_printed_unless_asked_for(self):
        self.assertEqual(support.launches(self.log), [])
        both = support.run_victim(
            "one", "linear_softmax", folder=self.folder, preload=True, AOTI_DBG_LEVEL="names,stats"
        )
        (log,) = both.log.parent.glob(both.log.name)
        text = log.read_text()
        self.assertEqual(len(support.launches(text)), 8)
        self.assertEqual([record.title for record in parity.read_records(text)], self.titles("linear_softmax"))

    @unittest.skipIf(support.release < (2, 8), "PyTorch shares no weights with a model before 2.8")
    def test_layouts_that_change_from_run_to_run_are_shown_as_they_are(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            seen = support.run_victim("changed_layouts", folder=folder, preload=True, AOTI_DBG_LEVEL="2")
            self.assertEqual(seen.code, 0, seen.stderr)
            lines = (folder / "aoti_dbg" / "latest" / "events.jsonl").read_text().splitlines()
        events = [json.loads(line) for line in lines]
        befores = [event for event in events if event["event"] == "call" and event["side"] == "before"]
        for kernel, label in (("cpp_fused_relu_0", "buf1"), ("cpp_fused__softmax_1", "buf3")):
            passed = [argument for event in befores if event["kernel"] == kernel for argument in event["arguments"]]
            rows = [argument["sizes"][0] for argument in passed if argument["label"] == label]
            self.assertEqual(rows, [8, 7, 8, 8, 8])
        outputs = [
            (event["side"], argument["sizes"][0])
            for event in events if event["event"] == "call" and event.get("call") == 0
            for argument in event["arguments"] if argument["label"] == "buf0"
        ]
        self.assertEqual(outputs[:4], [("before", 8), ("after", 8), ("before", 8), ("after", 7)])
        self.assertEqual(outputs[4:6], [("before", 8), ("after", 8)])
        weights = [event for event in events if event["event"] == "tensor" and event["sizes"] == [16, 4]]
        self.assertEqual(weights[-1]["storage_offset"], 7)

    def test_the_models_compute_what_they_compute_without_us(self):
        self.assert_alike(self.bare, self.seen)


if __name__ == "__main__":
    unittest.main(verbosity=2)
