"""Finds old words in code: in comments, in titles of tests, and in names, which it splits at underscores and
capital letters. It must not write files.
"""

from __future__ import annotations

import ast
import collections
import io
import pathlib
import re
import tokenize

import docs_messages

CPP_KINDS = ("*.cpp", "*.hpp", "*.c", "*.h", "*.cu", "*.cuh", "*.S", "*.def", "*.inc")
KINDS = (*CPP_KINDS, "*.py", "*.sh", "*.cmake", "*CMakeLists.txt", ":(glob)scripts/*", ".ci/run",
         ":(exclude)*.md", ":(exclude)*.json")  # fmt: skip
HEADERS = {".hpp", ".h", ".cuh", ".def", ".inc"}
# Their names are not their own if they use a header of another folder.
USERS = {"tests", "bench", "examples"}
# Words of a name, joined by underscores, and the word to use instead.
OLD_NAMES = [
    (r"told|tells?|telling|tellers?", "report, print, status_line"),
    (r"whoever|nobody|somebody|anybody|thereof|whereof", "a name"),
    (r"looked_at|looks?_at|looking_at", "inspect"),
    (r"lets?_(?:\w+_)?go|letting_go", "free"),
    (r"stands?(?!_in|_for)|standing|stood", "be, stalled"),
    (r"(?<!version_)made_by|made_(?:tensors?|arguments?|memory|ones)|note_made", "created"),
    (r"left_by_(?:an_)?exceptions?", "unwound"),
    (r"bad_end|good_order|(?:ends?|ended)_well|comes?_to_an_end", "normal_exit, abnormal_exit"),
    (r"into_question", "candidates"),
    (r"models?_arrive[sd]?|arrived_models?", "load"),
    (r"(?:memory|stream|context|device|module)s?_(?:goes|gone)|note_gone", "destroyed, freed"),
    (r"wanted", "requested"),
    (r"surroundings", "environment"),
]
NAME = re.compile(r"[A-Za-z_]\w*")
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
TITLE = re.compile(r'\b(?:TEST_CASE|SECTION)\(\s*((?:"(?:\\.|[^"\\\n])*"\s*)+)')


def old_name(name: str) -> str | None:
    """Return the word to use instead, if a name has an old word."""
    joined = "_".join(PART.findall(name)).lower()
    return next((better for old, better in OLD_NAMES if re.search(rf"(?:^|_)(?:{old})(?:_|$)", joined)), None)


def is_python(path: pathlib.Path) -> bool:
    with path.open("rb") as file:
        return path.suffix == ".py" or bool(re.match(rb"#!.*\bpython", file.readline(100)))


def line_at(source: str, offset: int) -> int:
    return source.count("\n", 0, offset) + 1


def split_cpp(source: str) -> tuple[str, list[tuple[int, str]]]:
    texts = [(line_at(source, title.start()), title[1]) for title in TITLE.finditer(source)]
    code = io.StringIO()
    end = 0
    for token in docs_messages.TOKEN.finditer(source):
        code.write(source[end : token.start()] + "\n" * token[0].count("\n"))
        end = token.end()
        if token[0].startswith(("//", "/*")):
            texts.append((line_at(source, token.start()), token[0]))
    return code.getvalue() + source[end:], texts


def split_python(source: str) -> tuple[str, list[tuple[int, str]]]:
    texts, code = [], collections.defaultdict(list)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            texts.append((token.start[0], token.string))
        elif token.type == tokenize.NAME:
            code[token.start[0]].append(token.string)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and (text := ast.get_docstring(node)):
            texts.append((node.body[0].lineno, text))
    return "\n".join(" ".join(code[line]) for line in range(1, max(code, default=0) + 1)), texts


def split_script(source: str) -> tuple[str, list[tuple[int, str]]]:
    texts = [(number, line.split("#", 1)[1]) for number, line in enumerate(source.splitlines(), 1) if "#" in line]
    return re.sub(r"#.*", "", source), texts


def read(path: pathlib.Path) -> tuple[str, list[tuple[int, str]]]:
    """Return the code without texts and literals, and line and text of comments and titles of tests."""
    source = path.read_text()
    if f"*{path.suffix}" in CPP_KINDS:
        return split_cpp(source)
    return split_python(source) if is_python(path) else split_script(source)


def names(path: pathlib.PurePath, code: str) -> dict[str, int]:
    """Return each name of a file with the line of its first use. The file's own name counts, too."""
    found = {path.name.split(".")[0]: 1}
    for number, line in enumerate(code.splitlines(), 1):
        for name in NAME.findall(line):
            found.setdefault(name, number)
    return found


def old_places(files: dict[str, pathlib.Path], old_words) -> dict[str, list[str]]:
    """Return the places by file name, each as `file:line: what`. `old_words` finds those of a text."""
    read_files = {name: read(path) for name, path in files.items()}
    names_of = {name: names(files[name], code) for name, (code, _) in read_files.items()}
    provided = {
        one
        for name, its_names in names_of.items()
        if files[name].suffix in HEADERS and name.split("/")[0] not in USERS
        for one in its_names
    }
    found = collections.defaultdict(list)
    for name, (_, texts) in read_files.items():
        borrowed = provided if name.split("/")[0] in USERS and f"*{files[name].suffix}" in CPP_KINDS else set()
        for one, line in names_of[name].items():
            if one not in borrowed and (better := old_name(one)):
                found[name].append(f"{name}:{line}: {one} (use: {better})")
        for line, text in texts:
            found[name] += [f"{name}:{line}: {word}" for word in old_words(re.sub(r"`[^`]*`", "code", text))]
    return {name: places for name, places in found.items() if places}
