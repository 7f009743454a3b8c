"""Functions that torch.compile compiled in place. compiled_victim.py runs bare, which compiles them, and then under the
library, which gets their wrappers from Inductor's cache. The program must not notice, and each kernel must have its
name, its tensors and its line.
"""

import json
import unittest

from compiled_support import CompiledTest


class Compiled(CompiledTest):
    cases = (
        "mlp", "conv", "attention", "dynamic", "sorting", "custom_op", "training", "nan", "threads", "failing",
    )  # fmt: skip

    def test_the_program_prints_the_same_and_its_exceptions_have_the_same_place(self):
        self.assert_unnoticed()

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
        log = self.log_of_seen()
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
            self.assertEqual(self.kernels_with(pattern, "mlp"), 4 * ["extern_kernels.addmm"])

    def test_level_1_saves_the_tensors_of_the_chosen_kernels(self):
        files = self.files_saved_of("cpp_fused_gelu_0", "mlp")
        self.assertEqual(len(files), 4, files)  # before and after, in two runs

    def test_a_crash_report_has_the_line_the_tensors_and_who_wrote_them(self):
        crashed = self.run_victim("crash", preload=True, AOTI_DBG_TRIAGE="1", AOTI_DBG_OUT="crashed")
        self.assertEqual(crashed.code, -11, crashed.stderr)
        (path,) = self.folder.glob("crashed/**/report.json")
        report = json.loads(path.read_text())
        self.assertEqual(report["call"]["kernel"], "torch.ops.aoti_dbg_victim.crash.default")
        self.assertGreater(report["call"]["line"], 0)
        self.assertEqual(report["call"]["original_aten"], ["aoti_dbg_victim.crash"])
        (read, *_) = report["arguments"]
        self.assertEqual((read["label"], read["written_by"]), ("buf0", "extern_kernels.mm (call 0)"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
