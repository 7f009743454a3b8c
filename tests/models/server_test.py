"""The C++ server of examples/: the same answers bare and under the library without recompiling it, and names
in the log.

AOTI_DBGTEST_SERVER is its path.
"""

import concurrent.futures
import os
import pathlib
import re
import socket
import subprocess
import tempfile
import unittest

import packages
import support

linear = ["aoti_torch_cpu_addmm_out", "cpp_fused_add_native_layer_norm_sum_0"]
requests = ["1 2", " ".join(map(str, range(12))), "what?", " ".join(str(i / 7) for i in range(36))]


class Server(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.command = [os.environ["AOTI_DBGTEST_SERVER"], str(packages.package_path("dynamic_batch", "released")), "12"]
        self.bare = {key: value for key, value in os.environ.items() if not key.startswith("AOTI_DBG_")}
        self.preloaded = dict(
            self.bare, LD_PRELOAD=support.library, AOTI_DBG_LEVEL="3", AOTI_DBG_LOG=str(self.folder / "log.%p.txt")
        )

    def names(self) -> list[str]:
        (log,) = self.folder.glob("log.*.txt")
        return support.read_log(log)

    def ask(self, environment: dict, *options: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [*self.command, *options], input="\n".join(requests) + "\n", env=environment, cwd=self.folder,
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip

    def test_answers_on_standard_output_are_the_same_and_the_runs_are_named(self):
        bare, seen = self.ask(self.bare), self.ask(self.preloaded)
        self.assertEqual([line.split()[0] for line in bare.stdout.splitlines()], ["error:", "ok", "error:", "ok"])
        self.assertEqual((seen.stdout, seen.returncode), (bare.stdout, 0))
        self.assertEqual(self.names(), 2 * [line for kernel in linear for line in support.both(kernel)])

    def test_leaving_after_the_first_request_leaves_no_names(self):
        seen = self.ask(self.preloaded, "--once")
        self.assertEqual((seen.stdout.count("\n"), seen.returncode), (1, 0))
        self.assertEqual([line for log in self.folder.glob("log.*.txt") for line in support.read_log(log)], [])

    def talk(self, port: int) -> list[str]:
        answers = []
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            with connection.makefile("rw") as lines:
                for request in 10 * requests:
                    lines.write(request + "\n")
                    lines.flush()
                    answers.append(lines.readline())
        return answers

    def serve(self, environment: dict) -> list[list[str]]:
        """Return the answers that four concurrent clients got."""
        server = subprocess.Popen(
            [*self.command, "--port", "0"], env=environment, cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            for line in server.stderr:
                if found := re.match(r"listening on 127.0.0.1:(\d+)$", line):
                    break
            with concurrent.futures.ThreadPoolExecutor(4) as clients:
                return list(clients.map(self.talk, 4 * [int(found[1])]))
        finally:
            unpacked = support.unpacked_by(server.pid)
            server.kill()
            server.wait()
            server.stderr.close()
            support.remove_unpacked(unpacked)

    def test_clients_at_once_get_the_same_answers_and_a_killed_server_leaves_every_name(self):
        bare, seen = self.serve(self.bare), self.serve(self.preloaded)
        self.assertEqual(seen, bare)
        kernels = support.kernels(self.names())
        for kernel in linear:
            self.assertEqual(kernels.count(kernel), 4 * 10 * 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
