"""Shared by the tests of torch.compile: compiled_victim.py runs bare, which compiles its functions, and then under the
library, which gets their wrappers from Inductor's cache."""

import json
import os
import pathlib
import shutil
import tempfile

import support

# Kernels that tests of this build compiled. Inductor finds them by their sources and the command of the compiler.
# Several tests have the same ones.
home = os.environ.get("AOTI_DBGTEST_KERNELS", str(support.here.parents[1] / "build" / "release" / "kernels"))
store = pathlib.Path(home, support.torch_version)


def events_in(folder: pathlib.Path) -> list[dict]:
    """Return the events of the process that recorded calls."""
    (path,) = [path for path in folder.glob("**/events.jsonl") if '"call"' in path.read_text()]
    return [json.loads(line) for line in path.read_text().splitlines()]


def take_kernels(cache: pathlib.Path, of: pathlib.Path = store) -> None:
    """Start a cache of Inductor with the kernels of another one, which then need no compiler. It has no graphs, so all
    functions are compiled."""
    ignored = shutil.ignore_patterns("fxgraph", "aotautograd", "*.py", "*.partial")
    if of.exists():
        shutil.copytree(of, cache, ignore=ignored)


def keep_kernels(cache: pathlib.Path) -> None:
    """Add the kernels of a cache to those of this build."""
    for path in [path for path in cache.glob("??/*") if path.suffix in (".cpp", ".so")]:
        kept = store / path.relative_to(cache)
        if not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=kept.parent, suffix=".partial", delete=False) as partial:
                partial.write(path.read_bytes())
            os.chmod(partial.name, 0o755)
            os.replace(partial.name, kept)


class CompiledTests:
    """What holds for Python and for C++ wrappers. A test adds unittest.TestCase."""

    cases: tuple[str, ...]
    environment: dict[str, str] = {}
    checks = "nan"
    # Names of kernels.
    addmm: str
    sort: str
    # Cases, patterns, and the kernels that these select. Another kernel of the cases is not selected.
    selection: tuple[list[str], str, list[str]]

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        take_kernels(cls.folder / "inductor")
        cls.bare = cls.run_victim(*cls.cases, preload=False)
        keep_kernels(cls.folder / "inductor")
        cls.seen = cls.run_victim(
            *cls.cases, preload=True, AOTI_DBG_LEVEL="2", AOTI_DBG_CHECK=cls.checks, AOTI_DBG_OUT="seen"
        )
        assert cls.bare.code == 0, cls.bare.stderr
        cls.events = events_in(cls.folder / "seen")
        cls.calls = [event for event in cls.events if event["event"] == "call"]

    @classmethod
    def run_victim(cls, *cases: str, preload: bool, **environment: str) -> support.Outcome:
        environment |= {"TORCHINDUCTOR_CACHE_DIR": str(cls.folder / "inductor"), **cls.environment}
        return support.run_victim(
            "cpu", *cases, folder=cls.folder, preload=preload, script="compiled_victim.py", **environment
        )

    def kernels_of_run(self, run: int) -> list[str]:
        return [call["kernel"] for call in self.calls if call["side"] == "before" and call.get("run") == run]

    def arguments(self, kernel: str, side: str, which: int = 0) -> dict:
        calls = [call for call in self.calls if call.get("kernel", "").startswith(kernel) and call["side"] == side]
        return {argument["label"]: argument for argument in calls[which]["arguments"]}

    def findings(self) -> list[str]:
        log = "".join(path.read_text() for path in self.folder.glob("log.*.txt"))
        return [line for line in log.splitlines() if line.startswith("[ finding ")]

    def test_the_program_prints_the_same_and_its_exceptions_have_the_same_place(self):
        self.assertEqual(self.seen.code, 0, self.seen.stderr)
        self.assertEqual(self.seen.stdout, self.bare.stdout)
        self.assertEqual({line.split()[0] for line in self.bare.stdout.splitlines()}, set(self.cases))

    def test_tensors_have_the_names_sizes_and_values_of_the_wrapper(self):
        before = self.arguments("cpp_fused_log_mul_0", "before")
        after = self.arguments("cpp_fused_log_mul_0", "after")
        self.assertEqual(before["arg0_1"]["values"], [-1, 2, 3])
        self.assertEqual(before["arg0_1"]["sizes"], [3])
        self.assertIn(after["buf0"]["values"][0], ("NaN", "-NaN"))
        self.assertAlmostEqual(after["buf0"]["values"][1], 1.3862943, places=6)

    def test_an_op_has_the_tensors_that_it_returns_after_it(self):
        before = self.arguments(self.sort, "before")
        after = self.arguments(self.sort, "after")
        returned = [label for label in after if label not in before]
        self.assertEqual([after[label]["dtype"] for label in returned], ["float32", "int64"])

    def test_each_site_has_its_line_and_the_ops_behind_it(self):
        sites = {event["kernel"]: event for event in self.events if event["event"] == "site"}
        self.assertTrue(all(site["line"] > 0 for site in sites.values()), sites)
        self.assertIn("aten.addmm", sites[self.addmm]["original_aten"])

    def test_a_nan_is_found_where_it_is_made(self):
        (nan,) = [finding for finding in self.findings() if "NaN" in finding]
        self.assertEqual(nan, "[ finding 1: NaN in buf0, first made by cpp_fused_log_mul_0 ]")

    def test_patterns_select_the_kernels_that_the_log_names_and_whose_tensors_are_saved(self):
        cases, patterns, kernels = self.selection
        seen = self.run_victim(
            *cases, preload=True, AOTI_DBG_LEVEL="names,files", AOTI_DBG_KERNELS=patterns,
            AOTI_DBG_LOG="selected.%p.txt", AOTI_DBG_OUT="saved",
        )  # fmt: skip
        self.assertEqual(seen.code, 0, seen.stderr)
        lines = [line for path in self.folder.glob("selected.*.txt") for line in support.read_log(path)]
        self.assertEqual(support.kernels(lines), kernels)
        saved = [path.name for path in self.folder.glob("saved/**/*_launch_*.pt")]
        self.assertEqual({kernel for kernel in kernels if any(kernel in name for name in saved)}, set(kernels))
        self.assertEqual([name for name in saved if not any(kernel in name for kernel in kernels)], [])
        # Before and after, in two runs.
        self.assertEqual(len([name for name in saved if "cpp_fused_gelu_0" in name]), 4, saved)
