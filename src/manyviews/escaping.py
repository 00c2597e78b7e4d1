"""Names that users gave, made harmless for where they are shown: one function per medium.

View names, columns, samples and labels are data. What they contain must not become markup, a
formula, a path, or an order to the terminal.
"""

import os
import unicodedata
from collections.abc import Iterable
from html import escape
from typing import Any

FORMULA = ("=", "+", "-", "@", "\t", "\r")
UNSEEN = "\N{REPLACEMENT CHARACTER}"
LONGEST = 100  # bytes of a name in the name of a file
RESERVED = {"con", "prn", "aux", "nul", *(f"{p}{n}" for p in ("com", "lpt") for n in range(1, 10))}


def visible(text: Any) -> str:
    """Text whose control characters and broken surrogates are shown as U+FFFD."""
    return "".join(
        UNSEEN if unicodedata.category(c) in {"Cc", "Cs"} and c not in "\n\t" else c
        for c in str(text)
    )


def in_picture(text: Any) -> str:
    """For matplotlib, to which dollar signs mean a formula, and ``_x`` what no legend shows."""
    plain = visible(text).replace("$", r"\$")
    return f" {plain}" if plain.startswith("_") else plain


def in_html(text: Any) -> str:
    """For HTML, inside and outside of attributes."""
    return escape(visible(text), quote=True)


def in_markup(text: Any) -> str:
    """For rich, which takes what stands in brackets for a style."""
    from rich.markup import escape as escape_markup  # slow to import

    return escape_markup(visible(text))


def file_names(names: Iterable[str]) -> dict[str, str]:
    """A file name for every name: no path, nothing hidden, no two alike in any letter case."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = "".join(c if c.isalnum() or c in "-_. " else "_" for c in name)
        while len(os.fsencode(plain)) > LONGEST:
            plain = plain[:-1]
        plain = plain.lstrip(". ").rstrip(". ") or "_"
        if plain.partition(".")[0].casefold() in RESERVED:
            plain = f"_{plain}"
        free, number = plain, 2
        while free.casefold() in taken:
            free, number = f"{plain}-{number}", number + 1
        taken.add(free.casefold())
        found[name] = free
    return found


def no_formula(value: Any) -> Any:
    """Text that a spreadsheet would take for a formula (``= + - @`` first) behind an apostrophe."""
    if not isinstance(value, str) or not value.startswith(FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
