"""Reads C++ as nested braces: the functions, classes and macros of a file, with their lines. It needs no
compiler, and relies on clang-format: a brace without a space before it begins an initializer. It must not
write files.
"""

from __future__ import annotations

import dataclasses
import re

from docs_messages import TOKEN

EVENT = re.compile(r"(?P<directive>^[ \t]*#[ \t]*(?P<word>\w+)(?:\\\n|[^\n])*)|[{};]", re.MULTILINE)
DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)\(([^)]*)\)((?:\\\n|[^\n])*)", re.MULTILINE)
CALL = re.compile(r"\b(AOTI_DBG_\w+)\(")
# Parts of a declaration that have parentheses or look like a class, but are neither.
NOISE = re.compile(
    r"\[\[.*?\]\]|__attribute__\s*\(\(.*?\)\)\)?|\b(?:alignas|decltype|requires)\s*\(.*?\)|\bextern\b"
    r"|\b(?:public|private|protected)\s*:(?!:)|\btemplate\s*<(?:[^<>]|<[^<>]*>)*>",
    re.DOTALL,
)
CLASS = re.compile(
    r"^\s*(?:(?:typedef|static|inline|const|constexpr)\s+)*(?:enum\s+)?(?:class|struct|union|enum)\b(?![^:]*\()\s*(\w*)"
)


@dataclasses.dataclass
class Part:
    kind: str  # function, test, class
    name: str
    line: int
    lines: int


@dataclasses.dataclass
class Scope:
    kind: str  # that of a part, or namespace, block (in a function), braces (an initializer)
    name: str = ""
    start: int = -1  # unless it is a part


def blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def without_texts(source: str) -> str:
    """Blank comments and literals. Every other character keeps its place."""
    return TOKEN.sub(lambda token: blank(token[0]), source)


def line_at(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def closing(code: str, opening: int) -> int:
    """Return where the parenthesis at `opening` closes."""
    depth = 0
    for at in range(opening, len(code)):
        depth += {"(": 1, ")": -1}.get(code[at], 0)
        if depth == 0:
            return at
    return len(code)


def scope_of(source: str, code: str, start: int, end: int, outer: str) -> Scope:
    """Return what the brace at `end` opens. What it belongs to begins after `start`."""
    head = NOISE.sub(lambda noise: blank(noise[0]), code[start:end])
    begin = start + max((gap.end() for gap in re.finditer(r"\n[ \t]*\n\s*|^\s*", head)), default=0)
    if outer in ("function", "test", "block"):
        return Scope("block")
    if outer == "braces" or not code[end - 1].isspace() or head.rstrip().endswith(("=", ",", "(", "{")):
        return Scope("braces")
    if re.search(r"\bnamespace\b", head) or not head.strip():
        return Scope("namespace")
    if is_class := CLASS.match(head):
        return Scope("class", is_class[1], begin)
    name = re.search(r"((?:\w+::)*(?:operator\s*(?:\(\s*\)|[^\s(]+)|~?\w+))?\s*\(", head)
    if not name:
        return Scope("braces")
    if re.fullmatch("[A-Z_]*TEST_CASE[A-Z_]*", name[1] or ""):
        opening = start + name.end() - 1
        return Scope("test", re.split(r'",|"\)|"$', source[opening + 2 : closing(code, opening)])[0], begin)
    return Scope("function", name[1] or "lambda", begin)


def parts(source: str) -> list[Part]:
    """Return the functions and classes of a file. A lambda in a function is part of the function."""
    code = without_texts(source)
    found: list[Part] = []
    scopes: list[Scope] = []
    branches: list[list[Scope]] = []
    start = 0
    for event in EVENT.finditer(code):
        outer = scopes[-1].kind if scopes else "namespace"
        if word := event["word"]:
            # Each branch begins with the braces that were open at its #if.
            if word.startswith("if"):
                branches.append(list(scopes))
            elif word.startswith("el") and branches:
                scopes = list(branches[-1])
            elif word == "endif" and branches:
                branches.pop()
            if outer in ("namespace", "class"):
                start = event.end()
            continue
        if event[0] == "{":
            scopes.append(scope_of(source, code, start, event.start(), outer))
        elif event[0] == "}" and scopes:
            scope = scopes.pop()
            if scope.start >= 0:
                first, last = line_at(code, scope.start), line_at(code, event.start())
                found.append(Part(scope.kind, scope.name, first, last - first + 1))
            if scope.kind == "braces":
                continue
        if not scopes or scopes[-1].kind != "braces":
            start = event.end()
    return found


def statement_arguments(source: str) -> list[tuple[int, str]]:
    """Return line and name of macros with statements as arguments: of calls with such an argument, and of
    definitions that use a parameter as a statement."""
    code = without_texts(source)
    found = []
    for definition in DEFINE.finditer(code):
        name, parameters, body = definition.groups()
        for parameter in (one.strip().replace("...", "__VA_ARGS__") for one in parameters.split(",")):
            place = re.escape(parameter)
            if parameter and re.search(rf"(?:^|[{{;}})]|\b(?:do|else)\b)[\s\\]*{place}[\s\\]*;|\{{[\s\\]+{place}[\s\\]+\}}", body):
                found.append((line_at(code, definition.start()), name))
    for call in CALL.finditer(code):
        if re.search(r"#[ \t]*define[ \t]+$", code[: call.start()][-20:]):
            continue
        arguments = code[call.end() : closing(code, call.end() - 1)]
        while (inner := re.sub(r"\([^()]*\)", "", arguments)) != arguments:
            arguments = inner
        if ";" in arguments:
            found.append((line_at(code, call.start()), call[1]))
    return found
