"""Shared by the tests of torch.compile: compiled_victim.py runs bare, which compiles its functions, and then under the
library, which gets their wrappers from Inductor's cache."""

import json
import pathlib
import tempfile
import unittest

import support


class CompiledTest(unittest.TestCase):
    cases: tuple[str, ...]
    environment: dict[str, str] = {}

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.bare = cls.run_victim(*cls.cases, preload=False)
        cls.seen = cls.run_victim(
            *cls.cases, preload=True, AOTI_DBG_LEVEL="2", AOTI_DBG_CHECK="nan", AOTI_DBG_OUT="seen"
        )
        assert cls.bare.code == 0, cls.bare.stderr
        (path,) = [path for path in cls.folder.glob("seen/**/events.jsonl") if path.read_text().count('"call"') > 20]
        cls.events = [json.loads(line) for line in path.read_text().splitlines()]
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

    def log_of_seen(self) -> str:
        return "".join(path.read_text() for path in self.folder.glob("log.*.txt"))

    def kernels_with(self, pattern: str, case: str) -> list[str]:
        """Return the kernels of a case that a pattern selects, as level 3 prints them."""
        seen = self.run_victim(case, preload=True, AOTI_DBG_KERNELS=pattern, AOTI_DBG_LOG=f"{pattern}.%p.txt")
        self.assertEqual(seen.code, 0, seen.stderr)
        return support.kernels(
            [line for path in self.folder.glob(f"{pattern}.*.txt") for line in support.read_log(path)]
        )

    def files_saved_of(self, kernel: str, case: str) -> list[str]:
        seen = self.run_victim(
            case, preload=True, AOTI_DBG_LEVEL="1", AOTI_DBG_KERNELS=kernel, AOTI_DBG_OUT="saved"
        )
        self.assertEqual(seen.code, 0, seen.stderr)
        return sorted(path.name for path in self.folder.glob(f"saved/**/*{kernel}*.pt"))

    def assert_unnoticed(self) -> None:
        self.assertEqual(self.seen.code, 0, self.seen.stderr)
        self.assertEqual(self.seen.stdout, self.bare.stdout)
        self.assertEqual({line.split()[0] for line in self.bare.stdout.splitlines()}, set(self.cases))
