"""Functions that torch.compile compiled in place. compiled_victim.py runs bare, which compiles them, and then under the
library, which gets their wrappers from Inductor's cache. The program must not notice, and each kernel must have its
name, its tensors and its line.
"""

import json
import pathlib
import tempfile
import unittest

import support

CPU_CASES = ["mlp", "conv", "attention", "dynamic", "sorting", "custom_op", "training", "nan", "threads", "failing"]


class Compiled(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.bare = cls.run_victim(preload=False)
        cls.seen = cls.run_victim(preload=True, AOTI_DBG_LEVEL="2", AOTI_DBG_CHECK="nan", AOTI_DBG_OUT="seen")
        assert cls.bare.code == 0, cls.bare.stderr
        (path,) = [path for path in cls.folder.glob("seen/**/events.jsonl") if path.read_text().count('"call"') > 20]
        cls.events = [json.loads(line) for line in path.read_text().splitlines()]
        cls.calls = [event for event in cls.events if event["event"] == "call"]

    @classmethod
    def run_victim(cls, *cases: str, preload: bool, **environment: str) -> support.Outcome:
        environment["TORCHINDUCTOR_CACHE_DIR"] = str(cls.folder / "inductor")
        return support.run_victim(
            "cpu", *cases, folder=cls.folder, preload=preload, script="compiled_victim.py", **environment
        )

    def kernels_of_run(self, run: int) -> list[str]:
        return [call["kernel"] for call in self.calls if call["side"] == "before" and call.get("run") == run]

    def arguments(self, kernel: str, side: str, which: int = 0) -> dict:
        calls = [call for call in self.calls if call.get("kernel", "").startswith(kernel) and call["side"] == side]
        return {argument["label"]: argument for argument in calls[which]["arguments"]}

    def test_the_program_prints_the_same_and_its_exceptions_have_the_same_place(self):
        self.assertEqual(self.seen.code, 0, self.seen.stderr)
        self.assertEqual(self.seen.stdout, self.bare.stdout)
        self.assertEqual({line.split()[0] for line in self.bare.stdout.splitlines()}, set(CPU_CASES))

    def test_each_kernel_has_its_name_as_pytorch_writes_it(self):
        mlp = ["extern_kernels.addmm", "cpp_fused_gelu_0", "extern_kernels.addmm"]
        self.assertEqual(self.kernels_of_run(0), mlp)
        self.assertEqual(self.kernels_of_run(1), mlp)
        named = {call.get("kernel") for call in self.calls}
        self.assertIn("torch.ops.aten.sort.stable", named)
        self.assertIn("torch.ops.aoti_dbg_victim.twice.default", named)

    def test_tensors_have_the_names_sizes_and_values_of_the_wrapper(self):
        before = self.arguments("cpp_fused_log_mul_0", "before")
        after = self.arguments("cpp_fused_log_mul_0", "after")
        self.assertEqual(before["arg0_1"]["values"], [-1, 2, 3])
        self.assertEqual(before["arg0_1"]["sizes"], [3])
        self.assertIn(after["buf0"]["values"][0], ("NaN", "-NaN"))
        self.assertAlmostEqual(after["buf0"]["values"][1], 1.3862943, places=6)

    def test_an_op_has_the_tensors_that_it_returns_after_it(self):
        before = self.arguments("torch.ops.aten.sort.stable", "before")
        after = self.arguments("torch.ops.aten.sort.stable", "after")
        returned = [label for label in after if label not in before]
        self.assertEqual([after[label]["dtype"] for label in returned], ["float32", "int64"])

    def test_the_inputs_and_outputs_of_each_run_are_measured(self):
        inputs = [call for call in self.calls if call["side"] == "inputs"]
        outputs = [call for call in self.calls if call["side"] == "outputs"]
        self.assertEqual([argument["sizes"] for argument in inputs[0]["arguments"]][2], [4, 16])
        self.assertEqual([argument["sizes"] for argument in outputs[0]["arguments"]], [[4, 8]])

    def test_each_site_has_its_line_and_the_ops_behind_it(self):
        sites = {event["kernel"]: event for event in self.events if event["event"] == "site"}
        self.assertTrue(all(site["line"] > 0 for site in sites.values()), sites)
        self.assertIn("aten.addmm", sites["extern_kernels.addmm"]["original_aten"])

    def test_a_nan_is_found_where_it_is_made(self):
        log = "".join(path.read_text() for path in self.folder.glob("log.*.txt"))
        self.assertIn("[ finding 1: NaN in buf0, first made by cpp_fused_log_mul_0 ]", log)
        self.assertNotIn("[ finding 2", log)

    def test_the_checks_of_arguments_and_races_find_only_the_op_that_raises(self):
        checked = self.run_victim(preload=True, AOTI_DBG_LEVEL="", AOTI_DBG_CHECK="args,races", AOTI_DBG_LOG="stderr")
        self.assertEqual(checked.code, 0, checked.stderr)
        self.assertEqual(checked.stdout, self.bare.stdout)
        found = [line for line in checked.stderr.splitlines() if line.startswith("[ finding ")]
        self.assertEqual(len(found), 1, found)
        self.assertIn("index_put", found[0])
        self.assertIn("expected success, got an exception", found[0])
        self.assertNotIn("cannot be checked", checked.stderr)

    def test_a_pattern_selects_kernels_by_either_name(self):
        for pattern in ("extern_kernels.addmm", "addmm"):
            seen = self.run_victim("mlp", preload=True, AOTI_DBG_KERNELS=pattern, AOTI_DBG_LOG=f"{pattern}.%p.txt")
            self.assertEqual(seen.code, 0, seen.stderr)
            lines = [line for path in self.folder.glob(f"{pattern}.*.txt") for line in support.read_log(path)]
            self.assertEqual(support.kernels(lines), 4 * ["extern_kernels.addmm"])

    def test_level_1_saves_the_tensors_of_the_chosen_kernels(self):
        seen = self.run_victim(
            "mlp", preload=True, AOTI_DBG_LEVEL="1", AOTI_DBG_KERNELS="cpp_fused_gelu_0", AOTI_DBG_OUT="saved"
        )
        self.assertEqual(seen.code, 0, seen.stderr)
        files = sorted(path.name for path in self.folder.glob("saved/**/*cpp_fused_gelu_0*.pt"))
        self.assertEqual(len(files), 4, files)  # before and after, in two runs


if __name__ == "__main__":
    unittest.main(verbosity=2)
