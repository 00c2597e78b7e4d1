"""An extension of griffe: arguments described together get a type and a default each.

``times, sequences : array-like`` is one line for people, and for griffe one type and one default:
those of the first argument. What they have in common is repeated for each.
"""

import re
from typing import Any

import griffe

SECTION = re.compile(r"(?ms)^(?:Parameters|Attributes)\n-+\n.*?(?=^\S[^\n]*\n-+\n|\Z)")
TOGETHER = re.compile(
    r"(?m)^(?P<names>\w+(?:, \w+)+)(?P<kind> : .*)?\n(?P<text>(?:(?:[ ]{4}.*)?\n)*)"
)


class OneByOne(griffe.Extension):
    """Divides entries of several names, when an object has been read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = divided(obj.docstring.value)


def divided(text: str) -> str:
    """A docstring with an entry for every name."""
    return SECTION.sub(lambda section: TOGETHER.sub(_repeated, section[0] + "\n"), text).rstrip()


def _repeated(found: re.Match[str]) -> str:
    entries = [
        f"{name}{found['kind'] or ''}\n{found['text'].rstrip()}\n"
        for name in found["names"].split(", ")
    ]
    return "".join(entries) + "\n" * (len(found["text"]) - len(found["text"].rstrip("\n")) - 1)
