"""Finds the tensors that each call site of a wrapper source names, and checks that they were recorded. It
must share no code with the library's own reader.
"""

from __future__ import annotations

import collections
import dataclasses
import json
import pathlib
import re
import zipfile

from random_recording import Call, Recording

CALL = re.compile(
    r"\b(cpp_fused_\w+|aoti_torch_(?:cpu|index_put|scatter)_\w+|aoti_torch_proxy_executor_call_function)\("
)
TENSOR = re.compile(
    r"(&?)\b((?:\w+?_)?(?:buf|arg)\d+(?:_\d+)?|var_\d+|tmp_\w+|scalar_to_tensor_\d+)(_handle)?\b"
)
ALIAS = re.compile(r"auto (\w+) = (?:RAIIAtenTensorHandle|wrap_with_raii_handle_if_needed)\((.*)\);")


@dataclasses.dataclass
class Site:
    kernel: str  # the called function, or the op behind the proxy executor
    line: int
    depth: int  # of braces, 1 is always reached
    reads: list[str]
    writes: list[str]  # passed to the call, which writes to them
    makes: list[str]  # exist only after the call


def balanced(text: str, begin: int) -> str:
    depth = 0
    for at in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return text[begin + 1 : at]
    return text[begin:]


class Source:
    def __init__(self, package: pathlib.Path):
        with zipfile.ZipFile(package) as archive:
            def read(end: str) -> str:
                (name,) = [name for name in archive.namelist() if name.endswith(end)]
                return archive.read(name).decode()

            self.lines = read(".wrapper.cpp").splitlines()
            try:
                self.nodes = json.loads(read(".wrapper.json"))["nodes"]
            except ValueError:
                self.nodes = []
        self.constants = re.findall(r"auto& (\w+) = constants_->at", "\n".join(self.lines))
        self.sites = self.read_sites()
        self.by_line = {site.line: site for site in self.sites}

    def site_of(self, call: Call) -> Site | None:
        return self.by_line.get(call.site.get("line"))

    def read_sites(self) -> list[Site]:
        inside, depth, sites = False, 0, []
        aliases: dict[str, str] = {}
        for number, line in enumerate(self.lines, 1):
            code = line.split("//")[0]
            if line.startswith("void AOTInductorModel::run_impl("):
                inside = True
            if not inside:
                continue
            if line.startswith("} // AOTInductorModel::run_impl"):
                break
            if match := ALIAS.search(code):
                names = [name for _, name, _ in TENSOR.findall(match[2])]
                names = [name for name in names if name.startswith(("buf", "arg")) or "graph" in name]
                names += [name for name in self.constants if re.search(rf"\b{name}\b", match[2])]
                aliases[match[1]] = names[0] if names and match[1].startswith(("var_", "tmp_")) else match[1]
            if (match := CALL.search(code)) and "alloc" not in match[1]:
                sites.append(self.read_site(match[1], balanced(code, match.end() - 1), number, depth, aliases))
            depth += code.count("{") - code.count("}")
        return sites

    def read_site(self, kernel: str, text: str, line: int, depth: int, aliases: dict[str, str]) -> Site:
        reads, writes, makes = [], [], []
        pattern = re.compile("|".join([TENSOR.pattern, *(rf"(?<!\w)({name})(?!\w)" for name in self.constants)]))
        for match in pattern.finditer(text):
            name = match[2] or match[0]
            if name.startswith("var_") and name not in aliases:
                continue  # a number
            is_made = match[2] and match[1] and match[3]
            is_written = re.search(r"(?<!const )\b[\w:<>]+\*\)\($", text[: match.start()]) is not None
            (makes if is_made else writes if is_written else reads).append(aliases.get(name, name))
        if kernel.endswith("_out"):
            reads, writes = reads[1:], reads[:1]
        if kernel == "aoti_torch_proxy_executor_call_function":
            node = self.nodes[int(text.split(",")[1])]["node"]
            kernel = node["target"]
            made = sum(len(output["as_tensors"]) if "as_tensors" in output else "as_tensor" in output
                       for output in node["outputs"])  # fmt: skip
            if made:
                reads, makes = reads[:-made], reads[-made:]
        return Site(kernel, line, depth, reads, writes, makes)


def symbol(call: Call) -> str:
    """Return the name that the source calls."""
    return call.kernel if call.site.get("kind") in ("proxy_op", "cpp_kernel") else call.symbol


def check_run(source: Source, recording: Recording, run: int) -> list[str]:
    wrong = []
    for side in ("before", "after"):
        calls = [call for call in recording.of(run, side) if call.kernel]
        reached = collections.Counter()
        for call in calls:
            site = source.site_of(call)
            if site is None:
                wrong.append(f"{call}: no call site at line {call.site.get('line')}")
                continue
            if symbol(call).split(".")[0] != site.kernel.split(".")[0]:
                wrong.append(f"{call}: line {site.line} calls {site.kernel}")
            reached[site.line] += 1
            expected = collections.Counter(site.reads + site.writes + (site.makes if side == "after" else []))
            missing = expected - collections.Counter(argument.label for argument in call.tensors())
            wrong += [f"{call} - {name}: named by the source, not recorded" for name in missing]
            wrong += [f"{call} - {argument.label}: neither measured nor a reason" for argument in call.tensors()
                      if not argument.is_measured and not argument.said.get("why")]  # fmt: skip
        wrong += [f"run {run}: {side} {site.kernel} of line {site.line}: not recorded" for site in source.sites
                  if site.depth == 1 and reached[site.line] != 1]  # fmt: skip
    return wrong


def check(source: Source, recording: Recording, runs: list[int]) -> list[str]:
    return [text for run in runs for text in check_run(source, recording, run)]
