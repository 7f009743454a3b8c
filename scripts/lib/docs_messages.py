"""Finds texts for users in C++ sources: string literals of at least two words. It must not write files."""

from __future__ import annotations

import dataclasses
import re

TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/          # comments
      |R"(?P<tag>[^(\s]*)\((?P<raw>.*?)\)(?P=tag)"
      |"(?P<text>(?:\\.|[^"\\\n])*)"
      |(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'
      |^[ \t]*\#[ \t]*include[^\n]*""",
    re.DOTALL | re.VERBOSE | re.MULTILINE,
)
ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "'": "'"}


@dataclasses.dataclass
class Message:
    line: int
    text: str


def unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: ESCAPES.get(match[1], ""), text, flags=re.DOTALL)


def messages(source: str) -> list[Message]:
    """Adjacent literals are one text. Comments are not messages."""
    found: list[Message] = []
    end_of_last = None
    for token in TOKEN.finditer(source):
        if token["raw"] is None and token["text"] is None:
            continue
        text = token["raw"] if token["raw"] is not None else unescaped(token["text"])
        if end_of_last is not None and not source[end_of_last : token.start()].strip():
            found[-1].text += text
        else:
            found.append(Message(source.count("\n", 0, token.start()) + 1, text))
        end_of_last = token.end()
    return [message for message in found if len(re.findall(r"[A-Za-z]{2,}", message.text)) > 1]
