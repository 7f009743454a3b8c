"""Checks the texts for readers: length of pages, length of sentences, old words, marks of commands, links.
Checks comments, titles of tests and names in code for old words, too.

Rules without exceptions fail at once. Old words and long sentences are counted per file and compared with
scripts/docs_baseline.json: a higher number fails. `--update` lowers the numbers, drops deleted files and adds
new ones. It never raises a number. `--list` prints every counted place.
"""

from __future__ import annotations

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import docs_code
import docs_messages
import docs_pages

root = pathlib.Path(__file__).resolve().parents[2]
baseline_file = root / "scripts" / "docs_baseline.json"

LONGEST_SENTENCE = 30
# The first pattern that matches a page decides. Tables of figures have no limit.
LENGTHS = [
    ("README.md", 1800),
    ("docs/tasks/*.md", 900),
    ("docs/internals/benchmarks.md", None),
    ("docs/internals/*.md", 3000),
]
MESSAGE_FOLDERS = ("base", "config", "cli", "shim", "serializer", "binary", "gpu_dump", "triage")
# Word or phrase, and the word to use instead.
OLD_WORDS = [
    (r"tells?|telling|told", "report, print, say"),
    (r"tellers?", "status line"),
    (r"(is|are|was|were|be|been) looked at|looks? at|looking at", "inspect"),
    (r"lets? go|letting go", "free"),
    (r"stands?(?! for| in|-)|standing|stood", "be, stalled"),
    (r"tensors? (is|are|was|were) made|made (in|by) (run|call)", "create"),
    (r"left by an exception|exception has left", "unwound"),
    (r"at its (beginning|begin|end)", "at start, at exit"),
    (r"(comes?|came) to (a bad|an) end|bad end|in good order|ended well|ends well", "abnormal exit, normal exit"),
    (r"what it holds|what they hold", "contents"),
    (r"comes? into question|came into question|in question", "candidates"),
    (r"hangs? on", "still running"),
    (r"(is|are) no findings?", "is not a finding"),
    (r"models? arrived?|arrival of a model|model arrives", "load"),
    (r"wanted", "requested"),
    (r"surroundings", "environment"),
    (r"whoever|nobody|somebody|anybody|thereof|whereof|of which|by which|out of which", "you, the library, a name"),
    (r"is to be|are to be", "must, an imperative"),
]


def listed(*patterns: str) -> list[pathlib.Path]:
    """Return tracked files, and new ones that git does not ignore, that still exist."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns]
    names = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    return [root / name for name in sorted(set(names.split("\0"))) if name and (root / name).is_file()]


def name_of(path: pathlib.Path) -> str:
    return path.relative_to(root).as_posix()


def long_sentences(text: str) -> list[str]:
    return [one for one in docs_pages.sentences(text) if len(one.split()) > LONGEST_SENTENCE]


def old_words(text: str) -> list[str]:
    """Return the old words found, each with its replacement."""
    found = []
    for pattern, better in OLD_WORDS:
        for match in re.finditer(rf"\b(?:{pattern})\b", text, re.IGNORECASE):
            found.append(f'"{match[0]}" (use: {better})')
    return found


def texts_of(path: pathlib.Path) -> list[tuple[int, str]]:
    """Return line and text of everything in this file that a reader sees."""
    content = path.read_text(errors="replace")
    if content.startswith("<!-- Generated from "):
        return []  # its text is counted at its source
    if path.suffix == ".md":
        return [(block.line, docs_pages.plain(block.text)) for block in docs_pages.blocks(content)]
    # Each line of output is a separate text.
    return [(one.line, line) for one in docs_messages.messages(content) for line in one.text.splitlines()]


def read_pages() -> list[pathlib.Path]:
    return listed("*.md")


def message_files() -> list[pathlib.Path]:
    return listed(*(f"{folder}/{kind}" for folder in MESSAGE_FOLDERS for kind in ("*.cpp", "*.hpp", "*.def")))


def counted() -> dict[str, dict[str, list[str]]]:
    """Return the places by kind and file, each as `file:line: what`."""
    found: dict[str, dict[str, list[str]]] = {"long sentences": {}, "old words": {}}
    for path in read_pages() + message_files():
        places: dict[str, list[str]] = collections.defaultdict(list)
        for line, text in texts_of(path):
            place = f"{name_of(path)}:{line}: "
            for one in long_sentences(text):
                places["long sentences"].append(f"{place}{len(one.split())} words: {one.strip()[:100]}")
            places["old words"] += [place + word for word in old_words(text)]
        for kind, where in places.items():
            if where:
                found[kind][name_of(path)] = where
    files = {name_of(path): path for path in listed(*docs_code.KINDS)}
    return found | {"old words in code": docs_code.old_places(files, old_words)}


def length_limit(name: str) -> int | None:
    for pattern, limit in LENGTHS:
        if pathlib.PurePath(name).match(pattern) and name.count("/") == pattern.count("/"):
            return limit
    return None


def page_problems() -> list[str]:
    """Return violations of the rules for every page."""
    problems = []
    for path in read_pages():
        name, text = name_of(path), path.read_text()
        limit = length_limit(name)
        if limit and docs_pages.words(text) > limit:
            problems.append(f"{name}: expected at most {limit} words, got {docs_pages.words(text)}")
        places = docs_pages.dead_links(path, text) + docs_pages.wrong_quotes(root, text)
        if name == "README.md" or name.startswith("docs/"):
            places += docs_pages.fence_problems(text)
        problems += [f"{name}:{line}: {what}" for line, what in sorted(places)]
    return problems


def risen(now: dict[str, dict[str, list[str]]], before: dict[str, dict[str, int]]) -> list[str]:
    problems = []
    for kind, by_file in now.items():
        for name, places in by_file.items():
            allowed = before.get(kind, {}).get(name, 0)
            if len(places) > allowed:
                problems.append(f"{name}: expected at most {allowed} {kind}, got {len(places)}:")
                problems += [f"    {place}" for place in places]
    return problems


def lowered(
    now: dict[str, dict[str, list[str]]], before: dict[str, dict[str, int]], known: set[str]
) -> dict[str, dict[str, int]]:
    """Return the new baseline: a file in `known` keeps at most its number, and a new file gets its current
    number."""
    after: dict[str, dict[str, int]] = {}
    for kind, by_file in now.items():
        numbers = {
            name: min(len(places), before.get(kind, {}).get(name, 0)) if name in known else len(places)
            for name, places in sorted(by_file.items())
        }
        after[kind] = {name: number for name, number in numbers.items() if number}
    return after


def known_files() -> set[str]:
    """Return the files of the commit that last changed the baseline. Later files are new."""
    name = name_of(baseline_file)
    commit = subprocess.run(
        ["git", "log", "-1", "--format=%H", "--", name], cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip()
    if not commit or not baseline_file.exists():
        return set()
    tree = subprocess.run(
        ["git", "ls-tree", "-r", "-z", "--name-only", commit], cwd=root, check=True, capture_output=True, text=True
    ).stdout
    return set(tree.split("\0"))


def total(by_file: dict) -> int:
    return sum(places if isinstance(places, int) else len(places) for places in by_file.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    before = json.loads(baseline_file.read_text()) if baseline_file.exists() else {}
    now = counted()
    if arguments.update:
        after = lowered(now, before, known_files())
        baseline_file.write_text(json.dumps(after, indent=1) + "\n")
        for kind in after:
            print(f"{kind}: {total(before.get(kind, {}))} -> {total(after[kind])}")
        return 0
    if arguments.list:
        print("\n".join(place for by_file in now.values() for places in by_file.values() for place in places))
        return 0
    problems = page_problems() + risen(now, before)
    for problem in problems:
        print(problem)
    for kind, by_file in now.items():
        allowed = total(before.get(kind, {}))
        note = "" if total(by_file) >= allowed else f", {allowed} allowed; scripts/docs --update lowers that"
        print(f"{total(by_file)} {kind}{note}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
