"""Finds every text that the library and the command print, as templates: `…` represents a value.

It reads C++ as tokens without comments and preprocessor lines, with nested brackets. A comma, a semicolon or
a brace ends an expression. The string literals of an expression, with what is between them, form a text.
"""

from __future__ import annotations

import dataclasses
import re

from docs_messages import unescaped

VALUE = "…"
TOKEN = re.compile(
    r"""(?P<skip>//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*|\s+)
      |R"(?P<tag>[^(\s]*)\((?P<raw>.*?)\)(?P=tag)"
      |"(?P<text>(?:\\.|[^"\\\n])*)"
      |(?P<char>(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*')
      |(?P<name>[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)
      |(?P<punct>->|::|\+=|==|!=|<=|>=|&&|\|\||<<|>>|[^\w\s])
      |(?P<number>[\w.']+)""",
    re.DOTALL | re.VERBOSE | re.MULTILINE,
)
CONVERSION = re.compile(r"%(?:%|[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?(?:hh|h|ll|l|z|j|t|L)?[a-zA-Z])")
CLOSING = {"(": ")", "[": "]", "{": "}"}
# Functions that return the text of their argument unchanged.
TRANSPARENT = {"std::string", "std::string_view", "string", "move", "std::move"}
APPENDING = {"append", "add"}
# Two words may be a JSON key, unless they are printed directly.
FEWEST_WORDS = 3
FEWEST_PRINTED = 2


@dataclasses.dataclass
class Token:
    kind: str  # text, name, punct, other, group
    text: str
    line: int
    inner: list[Token] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Text:
    line: int
    template: str
    printer: str  # "warn", "info", an ErrorCode's name, or nothing


def tokens(source: str) -> list[Token]:
    found = []
    line = 1
    for match in TOKEN.finditer(source):
        if match["raw"] is not None or match["text"] is not None:
            text = match["raw"] if match["raw"] is not None else unescaped(match["text"])
            found.append(Token("text", text, line))
        elif match["name"]:
            found.append(Token("name", match["name"], line))
        elif match["punct"]:
            found.append(Token("punct", match["punct"], line))
        elif not match["skip"]:
            found.append(Token("other", match[0], line))
        line += match[0].count("\n")
    return found


def nested(flat: list[Token]) -> list[Token]:
    """Group the tokens by brackets. A bracket that is never closed ends with the file."""
    stack: list[tuple[str, list[Token]]] = [("", [])]
    for token in flat:
        if token.kind == "punct" and token.text in CLOSING:
            group = Token("group", token.text, token.line)
            stack[-1][1].append(group)
            stack.append((CLOSING[token.text], group.inner))
        elif token.kind == "punct" and token.text == stack[-1][0]:
            stack.pop()
        else:
            stack[-1][1].append(token)
    return stack[0][1]


def is_punct(token: Token, *texts: str) -> bool:
    return token.kind == "punct" and token.text in texts


def split(sequence: list[Token], *separators: str) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    for token in sequence:
        if is_punct(token, *separators):
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def without_head(expression: list[Token]) -> list[Token]:
    """Return the part after an assignment, `return`, or the label of a case."""
    begin = 0
    for i, token in enumerate(expression):
        if is_punct(token, "=", "+=") or (token.kind == "name" and token.text in ("return", "throw")):
            begin = i + 1
    return expression[begin:]


def choices(expression: list[Token]) -> list[list[Token]]:
    """Return b and c for `a ? b : c`, otherwise the expression itself."""
    for i, token in enumerate(expression):
        if not is_punct(token, "?"):
            continue
        depth = 0
        for j in range(i + 1, len(expression)):
            depth += is_punct(expression[j], "?")
            if is_punct(expression[j], ":"):
                if depth == 0:
                    return [*choices(expression[i + 1 : j]), *choices(expression[j + 1 :])]
                depth -= 1
    return [expression]


def template_of(expression: list[Token]) -> str:
    alternatives = list(dict.fromkeys(map(sum_of, choices(without_head(expression)))))
    return alternatives[0] if len(alternatives) == 1 else "[" + "|".join(alternatives) + "]"


def sum_of(expression: list[Token]) -> str:
    return "".join(map(operand_of, split(expression, "+", "<<")))


def operand_of(operand: list[Token]) -> str:
    if any(token.kind == "text" for token in operand):
        # Only macros such as PRIu64 occur between literals.
        return "".join(token.text if token.kind == "text" else "u" for token in operand if token.kind != "group")
    if len(operand) == 1 and operand[0].kind == "group" and operand[0].text == "(":
        return template_of(operand[0].inner)
    if len(operand) == 2 and operand[0].text in TRANSPARENT and operand[1].kind == "group":
        return template_of(operand[1].inner)
    return VALUE + "".join(template_of(group.inner) for group in appended_to(operand))


def appended_to(operand: list[Token]) -> list[Token]:
    """Return the arguments of `text.append(a).append(b)`."""
    return [
        operand[i + 1]
        for i, token in enumerate(operand[:-1])
        if token.text in APPENDING and operand[i + 1].text == "(" and len(split(operand[i + 1].inner, ",")) == 1
    ]


def statements(sequence: list[Token]) -> list[list[Token]]:
    """A block in braces ends a statement, but braces that begin a value do not."""
    parts: list[list[Token]] = [[]]
    for i, token in enumerate(sequence):
        if is_punct(token, ";", ",", "&&", "||", "==", "!="):
            parts.append([])
            continue
        parts[-1].append(token)
        follows = sequence[i + 1] if i + 1 < len(sequence) else None
        if token.kind == "group" and token.text == "{" and follows and follows.kind in ("name", "other"):
            parts.append([])
        if is_punct(token, ":") and i and sequence[i - 1].kind in ("name", "text") and not ternary(parts[-1]):
            parts.append([])
    return [part for part in parts if part]


def ternary(part: list[Token]) -> bool:
    return any(is_punct(token, "?") for token in part)


def shown_groups(expression: list[Token]) -> set[int]:
    """Return the groups whose texts belong to the expression's own template."""
    shown: set[int] = set()
    for choice in choices(without_head(expression)):
        for operand in split(choice, "+", "<<"):
            inside = appended_to(operand)
            if any(token.kind == "text" for token in operand):
                inside = []
            elif len(operand) == 1 and operand[0].text == "(":
                inside = [operand[0]]
            elif len(operand) == 2 and operand[0].text in TRANSPARENT and operand[1].kind == "group":
                inside = [operand[1]]
            for group in inside:
                shown.add(id(group))
                shown |= shown_groups(group.inner)
    return shown


def printer_of(name: str, group: Token) -> str:
    first = split(group.inner, ",")[0]
    if name in ("message", "aoti_dbg::message", "say_", "say") and first and first[0].text.startswith("Severity::"):
        return first[0].text.removeprefix("Severity::")
    if name.endswith("error_message") and first:
        return re.sub(r".*ErrorCode::", "", first[0].text)
    return ""


def walk(sequence: list[Token], printer: str, found: list[Text]) -> None:
    for expression in statements(sequence):
        first = next((token for token in expression if token.kind == "text"), None)
        shown = shown_groups(expression)
        template = template_of(expression)
        texts_inside = first or any(id(token) in shown for token in expression if token.kind == "group")
        if texts_inside and template.strip(VALUE):
            found.append(Text((first or expression[0]).line, template, printer))
        previous = None
        for token in expression:
            if token.kind == "group":
                if previous is not None and previous.text == "static_assert":
                    continue
                inner_printer = printer_of(previous.text, token) if previous is not None else ""
                if id(token) not in shown:
                    walk(token.inner, inner_printer, found)
                else:
                    walk_calls(token.inner, found)
            previous = token


def walk_calls(sequence: list[Token], found: list[Text]) -> None:
    """Visit the calls with their own texts inside an expression that a template shows."""
    shown = shown_groups(sequence)
    for token in sequence:
        if token.kind != "group":
            continue
        if id(token) in shown:
            walk_calls(token.inner, found)
        else:
            walk(token.inner, "", found)


def readable(template: str) -> str:
    template = CONVERSION.sub(lambda match: "%" if match[0] == "%%" else VALUE, template)
    template = re.sub(r"\s*\n\s*", " ", template)
    template = re.sub(rf"(?:{VALUE})+", VALUE, template)
    return re.sub(r"\s+", " ", template).strip()


def is_prose(template: str, printer: str) -> bool:
    words = re.findall(r"(?<![\w/.%<{\"-])[A-Za-z][a-z']+(?![\w/(\">=])", template)
    return len(words) >= (FEWEST_PRINTED if printer else FEWEST_WORDS) and not re.search(r'":|^/|</|^#!|\$\{|::error', template)


def texts(source: str) -> list[Text]:
    """Return the texts in source order, each once."""
    found: list[Text] = []
    walk(nested(tokens(source)), "", found)
    shown: dict[tuple[str, str], Text] = {}
    for text in found:
        template = readable(text.template)
        if is_prose(template, text.printer):
            shown.setdefault((template, text.printer), Text(text.line, template, text.printer))
    return list(shown.values())
