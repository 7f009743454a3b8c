"""Reads the pages of the docs: their fences with marks, their prose as sentences, their links. It must not
write files.

A fence that shows a command has a mark directly above it, an HTML comment:
    <!-- run -->  <!-- run: numbers differ, exit 1 -->  <!-- run: file NAME -->  <!-- gpu -->
    <!-- not run: REASON -->
A fence that quotes a file has <!-- from: FILE --> there. A line of dots in it stands for lines that it omits.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re

# A fence in one of these languages shows a command, or text that a reader copies.
MARKED = {"console", "sh", "bash", "python", "yaml", "ini", "dockerfile"}
MARK = re.compile(r"^<!-- (run|gpu|not run|from)(?:: (.+))? -->$")
FENCE = re.compile(r"^( *)(`{3,}|~{3,}) *([\w-]*)")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


@dataclasses.dataclass
class Fence:
    line: int  # of its first line, counted from 1
    language: str
    body: list[str]
    mark: str | None = None  # run, gpu, not run, from
    details: str = ""  # the text after the colon in a mark


def fences(text: str) -> list[Fence]:
    found, lines = [], text.splitlines()
    at = 0
    while at < len(lines):
        opening = FENCE.match(lines[at])
        if not opening:
            at += 1
            continue
        indent, ticks, language = opening.groups()
        end = at + 1
        while end < len(lines) and not re.match(rf"^ *{ticks}`* *$", lines[end]):
            end += 1
        body = [line.removeprefix(indent) for line in lines[at + 1 : end]]
        mark = MARK.match(lines[at - 1].strip()) if at else None
        found.append(Fence(at + 1, language, body, mark and mark[1], (mark and mark[2]) or ""))
        at = end + 1
    return found


def fence_problems(text: str) -> list[tuple[int, str]]:
    """Return line and problem: fences without a required mark, and commands where none may be."""
    problems = []
    for fence in fences(text):
        if fence.language == "mermaid":
            problems.append((fence.line, "Mermaid needs a script from the network. Use an SVG file in docs/assets."))
        elif not fence.language:
            problems.append((fence.line, "the fence has no language. Name one, or `text`."))
        elif fence.language in MARKED and not fence.mark:
            problems.append((fence.line, "the fence has no mark: run, gpu, or not run with a reason"))
        elif fence.language not in MARKED and any(line.startswith("$ ") for line in fence.body):
            problems.append((fence.line, f"a {fence.language} fence shows a command. Make it a console fence."))
        elif fence.mark == "not run" and not fence.details:
            problems.append((fence.line, "the mark `not run` gives no reason"))
    outside = without_fences(text)
    for number, line in enumerate(outside.splitlines(), 1):
        if re.match(r"^    +(\$ |aoti-dbg |scripts/|LD_PRELOAD=)", line):
            problems.append((number, "a command in an indented block. Use a fence with a mark."))
    return problems


def wrong_quotes(root: pathlib.Path, text: str) -> list[tuple[int, str]]:
    """Return fences that quote a file but differ from it."""
    problems = []
    for fence in fences(text):
        if fence.mark != "from":
            continue
        file = root / fence.details
        parts = re.split(r"^\s*\.\.\.$", "\n".join(fence.body), flags=re.MULTILINE)
        in_order = ".*".join(re.escape(part.strip("\n")) for part in parts)
        if not file.is_file() or not re.search(in_order, file.read_text(), re.DOTALL):
            problems.append((fence.line, f"the fence is not what {fence.details} has"))
    return problems


def without_fences(text: str) -> str:
    """Return the lines with fences and comments emptied, so that line numbers stay the same."""
    lines = text.splitlines()
    for fence in fences(text):
        for at in range(fence.line - 1, min(len(lines), fence.line + len(fence.body) + 1)):
            lines[at] = ""
    return COMMENT.sub(lambda match: "\n" * match[0].count("\n"), "\n".join(lines))


def words(text: str) -> int:
    """Count like `wc -w` what a reader sees, including fences and tables, without marks and comments."""
    return len(COMMENT.sub("", text).split())


@dataclasses.dataclass
class Block:
    """A paragraph, a list item, a heading or a table cell. No sentence extends beyond it."""

    line: int
    text: str


def blocks(text: str) -> list[Block]:
    found: list[Block] = []
    open_block: Block | None = None
    for number, line in enumerate(without_fences(text).splitlines(), 1):
        stripped = line.strip()
        starts = re.match(r"^(#+|[-*+]|\d+\.|>) ", stripped)
        if not stripped or stripped.startswith(("!!!", "???")):
            open_block = None
        elif stripped.startswith("|"):
            open_block = None
            cells = re.split(r"(?<!\\)\|", stripped.strip("|"))
            found += [Block(number, cell.strip()) for cell in cells if not re.fullmatch(r"[ :-]*", cell)]
        elif starts or not open_block:
            open_block = Block(number, stripped.removeprefix(starts[0]) if starts else stripped)
            found.append(open_block)
            if starts and starts[0].startswith("#"):
                open_block = None
        else:
            open_block.text += " " + stripped
    return found


def plain(text: str) -> str:
    """Strip the markup: code becomes one word, a link or an image becomes its text."""
    text = re.sub(r"(`+)(.+?)\1", "code", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"</?[a-zA-Z][^>]*>", " ", text)
    return re.sub(r"\*\*|(?<!\w)\*|\*(?!\w)|(?<!\w)_|_(?!\w)", "", text)


def sentences(text: str) -> list[str]:
    parts = re.split(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!\.\.\.)[\"')]*\s+", text)
    return [part for part in parts if part.strip()]


def links(text: str) -> list[tuple[int, str]]:
    found = []
    for number, line in enumerate(without_fences(text).splitlines(), 1):
        visible = re.sub(r"(`+).+?\1", "", line)
        found += [(number, target) for target in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", visible)]
    return found


def anchors(text: str) -> set[str]:
    """Return the anchors of its headings, as MkDocs and GitHub name them."""
    found = set()
    for line in without_fences(text).splitlines():
        if heading := re.match(r"^#+ +(.+)$", line):
            visible = re.sub(r"`", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]))
            slug = re.sub(r"[^\w\s-]", "", visible).strip().lower()
            found.add(re.sub(r"[\s]+", "-", slug))
    return found


def dead_links(page: pathlib.Path, text: str) -> list[tuple[int, str]]:
    """Return relative links of a page that lead to no file, or to no heading of a page."""
    problems = []
    for number, target in links(text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path) if path else page
        if not file.exists():
            problems.append((number, f"dead link: {target}"))
        elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text()):
            problems.append((number, f"dead link: {path or page.name} has no heading #{anchor}"))
    return problems
