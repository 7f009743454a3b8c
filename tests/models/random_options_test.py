"""Random sets of valid and invalid options must never change a program's answers. The program is the server
of examples/ on a real model, linked for the CPU, because it starts in a quarter of a second.

AOTI_DBGTEST_SERVER_FOR_CPU is its path, AOTI_DBGTEST_RANDOM_SETS the number of sets to try (100).
"""

from __future__ import annotations

import concurrent.futures
import os
import pathlib
import random
import subprocess
import tempfile
import unittest

import packages
import support


class RandomSets(unittest.TestCase):
    values = {
        "AOTI_DBG_LEVEL": ["0", "1", "2", "3", "names", "stats,files", "9", "nmaes"],
        "AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER": ["0", "3", "x"],
        "AOT_INDUCTOR_FILTERED_KERNELS_TO_PRINT": ["aoti_torch_cpu_addmm_out", ",", "a<b"],
        "AOTI_DBG_KERNELS": ["*", "cpp_*", "!*", "[", "*a*d*m*,!cpp_*", "ø"],
        "AOTI_DBG_RUNS": ["0", "1:", "::2", "-1", "x"],
        "AOTI_DBG_CALLS": ["1", ":1", "0:9:3", "2:1"],
        "AOTI_DBG_SIDE": ["before", "after", "both", "left"],
        "AOTI_DBG_CHECK": ["nan", "nan,inf", "none", "nan,none", "zero"],
        "AOTI_DBG_ON_FINDING": ["report", "reprot"],  # the others change the program's behavior
        "AOTI_DBG_SUPPRESS": ["*", "nan in cpp_* - buf0", "zero in x", "./known.txt", "/missing"],
        "AOTI_DBG_FORMAT": ["text", "compact", "jsonl", "json"],
        "AOTI_DBG_STATS": ["printed", "indices", "full", "all"],
        "AOTI_DBG_REUSE": ["on", "off", "maybe"],
        "AOTI_DBG_ON_FULL": ["wait", "drop", "stop"],
        "AOTI_DBG_SYNC": ["1", "0", "2"],
        "AOTI_DBG_TRIAGE": ["1", "0", "maybe"],
        "AOTI_DBG_TENSORS": ["buf*", "!*weight*", "!"],
        "AOTI_DBG_MAX_TENSOR": ["100", "1 GiB", "none", "1 parsec"],
        "AOTI_DBG_STAGING": ["1MiB", "64 MB", "0"],
        "AOTI_DBG_MAX_BYTES": ["10kB", "1GB", "none", "-1"],
        "AOTI_DBG_MAX_FILES": ["3", "1000", "0"],
        "AOTI_DBG_KEEP": ["first", "last:1", "last:2", "last:"],
        "AOTI_DBG_CAPTURE_ON": ["always", "finding", "fault", "never"],
        "AOTI_DBG_SAVE_ON": ["always", "finding", "never"],
        "AOTI_DBG_PT_LAYOUT": ["runs", "torch", "flat"],
        "AOTI_DBG_PORTABLE_NAMES": ["1", "0", "x"],
        "AOTI_DBG_WRITERS": ["auto", "1", "3", "1000", "none"],
        "AOTI_DBG_EVIDENCE": ["on", "off", ""],
        "AOTI_DBG_SCOPE": ["model", "all", "some"],
        "AOTI_DBG_PROCESSES": ["main", "all", "aoti_server", "!*"],
        "AOTI_DBG_RING": ["0", "1", "100", "-1"],
        "AOTI_DBG_LOG": ["log.%p.txt", "stderr", "/dev/null", "/dev/full", "/proc/no"],
        "AOTI_DBG_OUT": ["out-%p", "/proc/no", "%q{HOSTNAME}-%t"],
        "AOTI_DBG_CONFIG": ["options.json", "broken.json", "/", "missing.json"],
        "AOTI_DBG_KERNLES": ["*"],
    }  # fmt: skip

    def test_they_change_no_answer_and_no_exit_code(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "options.json").write_text('{"level": 3, "rules": [{"kernels": "cpp_*", "side": "after"}]}')
            (folder / "broken.json").write_text('{"level": ')
            (folder / "known.txt").write_text("nan in cpp_*  # known\n")
            command = [os.environ["AOTI_DBGTEST_SERVER_FOR_CPU"], str(packages.package_path("dynamic_batch", "released")), "12"]
            requests = "\n".join((" ".join(map(str, range(24))), "what?", " ".join(map(str, range(12))))) + "\n"
            plain = {key: value for key, value in os.environ.items() if not key.startswith(("AOTI_DBG_", "AOT_IND"))}

            def answers(environment: dict) -> tuple:
                finished = subprocess.run(
                    command, input=requests, env=environment, cwd=folder, capture_output=True, text=True, timeout=120
                )
                return finished.stdout, finished.returncode

            expected = answers(plain)
            self.assertEqual(expected[0].count("ok "), 2)
            seed = 20261121
            dice = random.Random(seed)

            def attempt(chosen: dict) -> dict | None:
                return None if answers({**plain, "LD_PRELOAD": support.library, **chosen}) == expected else chosen

            sets = [
                {key: dice.choice(values) for key, values in self.values.items() if dice.random() < 0.4}
                for _ in range(int(os.environ.get("AOTI_DBGTEST_RANDOM_SETS", "100")))
            ]
            with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                noticed = [chosen for chosen in pool.map(attempt, sets) if chosen is not None]
            self.assertEqual(noticed, [], f"seed {seed}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
