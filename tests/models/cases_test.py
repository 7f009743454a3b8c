"""Real models in harder cases: errors, threads, children, reloading, abrupt exits, filters, levels. Each
program runs bare and under the library. The library must not change its behavior and must write the right
log.
"""

import functools
import pathlib
import tempfile
import unittest

import quick_programs
import support

linear = ["aoti_torch_cpu_addmm_out", "cpp_fused_relu_0", "aoti_torch_cpu_addmm_out", "cpp_fused__softmax_1"]
linear_lines = [line for kernel in linear for line in support.both(kernel)]
custom = ["cpp_fused_my_op_sin_0", "mylib::my_op", "mylib::my_op", "cpp_fused_add_cos_1"]


class Cases(support.Test):
    @classmethod
    def setUpClass(cls):
        cls.victims = quick_programs.Victims()
        cls.addClassCleanup(cls.victims.close)

    def compare(self, *arguments: str, code: int = 0) -> support.Outcome:
        """Return the outcome under the library, which must equal the bare one."""
        bare = self.victims.run(*arguments, folder=self.folder)
        seen = support.run_victim(*arguments, folder=self.folder, preload=True)
        self.assert_alike(bare, seen, code)
        return seen

    def run_model(self, name: str, **environment: str) -> support.Outcome:
        """Return the outcome of one run under the library, whose result must be that of a bare run."""
        program, bare = self.bare_run(name)
        seen = support.run(program, folder=self.folder, preload=True, **environment)
        self.assertEqual((bare.code, seen.code), (0, 0), seen.stderr)
        results = [line for line in seen.stdout.splitlines() if not support.launch_line.match(line)]
        self.assertEqual(results, bare.stdout.splitlines())
        return seen

    @classmethod
    @functools.cache
    def bare_run(cls, name: str) -> tuple[support.Program, support.Outcome]:
        program = cls.victims.runs_of(name)
        with tempfile.TemporaryDirectory() as folder:
            return program, support.run(program, folder=pathlib.Path(folder), preload=False)

    def test_a_process_that_ends_inside_a_call_leaves_that_call_as_the_last_line(self):
        self.assertEqual(self.compare("exit_inside", "24", code=24).names()[-1], "[ before_launch: mylib::my_op ]")

    def test_underscore_exit_keeps_its_code_and_leaves_the_log_whole(self):
        self.assertEqual(self.compare("exit_now", "23", code=23).names(), linear_lines)

    def test_an_abort_stays_an_abort_and_leaves_the_log_whole(self):
        self.assertEqual(self.compare("abort", code=-6).names(), linear_lines)

    def test_a_run_that_fails_raises_the_same_and_the_next_run_is_named_in_full(self):
        kernels = support.kernels(self.compare("errors").names())
        # The generated code ignores the proxy executor's result and makes its second call too.
        failed = linear[:1]
        self.assertEqual([k for k in kernels if k in linear], [*failed, *linear, *failed, *linear])
        self.assertEqual([k for k in kernels if k in custom], [*custom[:3], *custom])

    def test_threads_do_not_lose_or_mix_up_names(self):
        rounds = 50
        lines = self.compare("threads", str(rounds)).names()
        kernels = support.kernels(lines)
        self.assertEqual(kernels.count("at::_ops::sort_stable::call"), rounds)
        self.assertEqual(kernels.count("cpp_fused_relu_0"), rounds)
        self.assertEqual(kernels.count("cpp_fused_add_native_layer_norm_sum_0"), 2 * rounds)
        # One model calls addmm_out twice per run, the other once, in two threads.
        self.assertEqual(kernels.count("aoti_torch_cpu_addmm_out"), 4 * rounds)
        for kernel in set(kernels):
            begun, ended = support.both(kernel)
            self.assertEqual(lines.count(begun), lines.count(ended), kernel)

    def test_loading_twice_and_unloading_names_each_run_once(self):
        kernels = support.kernels(self.compare("reload", "2").names())
        self.assertEqual(kernels, 2 * (3 * linear + custom))

    def test_two_runners_on_one_shared_object_name_each_run_once(self):
        self.assertEqual(support.kernels(self.compare("shared_object").names()), 3 * linear)

    def check_children(self, *arguments: str) -> None:
        outcome = self.compare(*arguments)
        found = [line for line in outcome.stderr.splitlines() if line.startswith("child and parent ")]
        child, parent = map(int, found[0].split()[-2:])
        logs = {process: lines for process, lines in outcome.logs().items() if lines}
        self.assertEqual(logs, {child: linear_lines, parent: 2 * linear_lines})

    def test_a_forked_child_with_a_model_of_its_own_writes_its_own_log(self):
        self.check_children("children", "fork")

    def test_a_spawned_child_writes_its_own_log(self):
        self.check_children("children", "spawn")

    def test_a_forked_child_with_its_parents_model_writes_its_own_log(self):
        self.check_children("inherited_model")

    def test_the_filter_takes_names_of_pytorch_and_of_the_shim_whatever_the_case(self):
        requested = " AT::_ops::Sort_Stable::call,aoti_torch_cpu_topk ,sort,cpp_fused"
        outcome = self.run_model("fallback_ops", AOT_INDUCTOR_FILTERED_KERNELS_TO_PRINT=requested)
        self.assertEqual(support.kernels(outcome.names()), ["at::_ops::sort_stable::call", "at::_ops::topk::call"])

    def test_a_filter_that_nothing_passes_prints_nothing(self):
        outcome = self.run_model("linear_softmax", AOT_INDUCTOR_FILTERED_KERNELS_TO_PRINT="nothing")
        self.assertEqual([lines for lines in outcome.logs().values() if lines], [])

    def test_the_variable_of_pytorch_switches_names_on(self):
        outcome = self.run_model(
            "linear_softmax", AOTI_DBG_LEVEL="", AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER="3"
        )
        self.assertEqual(outcome.names(), linear_lines)

    def test_our_level_wins_over_the_variable_of_pytorch(self):
        outcome = self.run_model(
            "linear_softmax", AOTI_DBG_LEVEL="0", AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER="3"
        )
        self.assertEqual(outcome.logs(), {})

    def test_level_0_says_nothing_and_leaves_nothing_behind(self):
        for level in ("0", ""):
            with self.subTest(level=level):
                outcome = self.run_model("linear_softmax", AOTI_DBG_LEVEL=level)
                self.assertNotIn("aoti-dbg[", outcome.stderr)
                self.assertEqual(list(self.folder.iterdir()), [])

    def test_names_go_to_standard_error_when_no_log_is_named(self):
        outcome = self.run_model("linear_softmax", AOTI_DBG_LOG="")
        self.assertEqual(support.launches(outcome.stderr), linear_lines)
        self.assertEqual(support.launches(outcome.stdout), [])

    def test_names_go_to_standard_output_when_asked(self):
        outcome = self.run_model("linear_softmax", AOTI_DBG_LOG="stdout")
        self.assertEqual(support.launches(outcome.stdout), linear_lines)


if __name__ == "__main__":
    unittest.main(verbosity=2)
