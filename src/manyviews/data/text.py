"""Text files as tables: encoding, separator and decimal sign are found out, and said."""

import csv
import gzip
import re
from collections import Counter
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pandas as pd

from ..errors import DataError
from .concern import Concern
from .reading import Reading

USUAL = {".csv": ",", ".tsv": "\t", ".txt": "\t", ".tab": "\t", ".dat": "\t"}
SEPARATORS = ("\t", ";", "|", ",")  # in the order of preference
NAMES = {"\t": "tabs", " ": "spaces", r"\s+": "spaces"}
LINES = 100  # looked at
MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}
COMMA = re.compile(r"^[+-]?\d+,\d+([eE][+-]?\d+)?$|^[+-]?\d{1,3}(\.\d{3})+,\d+$")
POINT = re.compile(r"^[+-]?\d*\.\d+([eE][+-]?\d+)?$")


@dataclass(frozen=True)
class Dialect:
    """How a text file is written."""

    encoding: str
    sep: str
    decimal: str
    thousands: str | None = None

    def __str__(self) -> str:
        return (
            f"encoding {self.encoding}, separator {_named(self.sep)}, decimal sign {self.decimal!r}"
        )


def read_text(path: Path, how: Reading, view: str) -> tuple[pd.DataFrame, list[Concern]]:
    """The table of a text file, and what was noticed while it was read."""
    suffix = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    encoding, text = _decoded(raw, path, how.encoding)
    text, n_comments = _below_comments(text)
    dialect = sniff(text, encoding, USUAL.get(suffix.lower(), ","), how)
    concerns = []
    if n_comments:
        concerns.append(
            Concern(
                "note", view, f"{path} begins with a comment (lines with #: {n_comments}).",
                n_comments, "It is skipped.",
            )
        )  # fmt: skip
    if encoding not in {"utf-8", "utf-8-sig", how.encoding}:
        concerns.append(
            Concern(
                "note", view, f"{path} is not UTF-8.", None, f"It is read as {encoding}.",
                "Give --encoding if names of samples or columns look wrong.",
            )
        )  # fmt: skip
    if dialect.decimal == "," and how.decimal is None:
        concerns.append(
            Concern(
                "note", view, f"Numbers of {path} have decimal commas.", None,
                f"It is read with {dialect}.", "Give --decimal . if these commas are none.",
            )
        )  # fmt: skip
    header = next(csv.reader(StringIO(text), delimiter=_one(dialect.sep)), [])
    twice = [name for name, count in Counter(h.strip() for h in header if h).items() if count > 1]
    if twice:
        concerns.append(
            Concern(
                "warning", view, f"Column {twice[0]!r} of {path} appears more than once.",
                len(twice), f"The second one is called {twice[0] + '.1'!r}, and so on.",
                "Leave out, or rename, what is there twice.",
            )
        )  # fmt: skip
    frame = _parsed(text, dialect, how, path)
    if frame.index.nlevels > 1:
        raise DataError(
            f"the first line of {path} ({_short(text)}) has fewer columns than those below: remove "
            "lines above the header, or give --sep"
        )
    if not len(frame):
        raise DataError(f"{path} has a header and no rows")
    alone = frame.shape[1] == 1 and not pd.api.types.is_numeric_dtype(frame.dtypes.iloc[0])
    better = _other_separator(text, dialect.sep) if alone else None
    if better is not None:
        raise DataError(
            f"{path} has one column only, {_short(text)}, if separated by {_named(dialect.sep)}: "
            f"give --sep, which seems to be {_named(better)}, and remove lines above the header"
        )
    frame.columns = pd.Index([str(c).strip() for c in frame.columns])
    hollow = [c for c in frame if str(c).startswith("Unnamed:") and frame[c].isna().all()]
    return frame.drop(columns=hollow), concerns


def sniff(text: str, encoding: str, usual: str, how: Reading) -> Dialect:
    """The separator that divides all lines alike, and the decimal sign of the numbers between."""
    lines = [line for line in text[:1_000_000].splitlines() if line.strip()][:LINES]
    sep = how.sep if how.sep is not None else _separator(lines, usual)
    sep = {"tab": "\t", r"\t": "\t", "space": r"\s+", " ": r"\s+"}.get(sep, sep)
    if how.decimal is not None:
        return Dialect(encoding, sep, how.decimal)
    cells = [cell.strip() for row in _rows(lines[1:], sep) for cell in row]
    commas = [cell for cell in cells if COMMA.match(cell)] if sep != "," else []
    if commas and not any(POINT.match(cell) for cell in cells):
        return Dialect(encoding, sep, ",", "." if any("." in cell for cell in commas) else None)
    return Dialect(encoding, sep, ".")


def _separator(lines: list[str], usual: str) -> str:
    """The first that divides all lines into equally many parts, or all but the header, which as R
    writes it has one less.
    """
    order = [usual, *(s for s in SEPARATORS if s != usual)]
    if usual == ",":
        order = list(SEPARATORS)
    for less in (0, 1):
        for sep in order:
            counts = [len(row) for row in _rows(lines, sep)]
            body = counts[1:] or counts
            if min(body, default=1) > 1 and len(set(body)) == 1 and body[0] - counts[0] == less:
                return sep
    first = lines[0] if lines else ""
    if usual == "\t" and not any(sep in first for sep in SEPARATORS) and len(first.split()) > 1:
        return r"\s+"
    return usual if usual in first else max(SEPARATORS, key=first.count, default=usual)


def _rows(lines: list[str], sep: str) -> list[list[str]]:
    if sep == r"\s+":
        return [line.split() for line in lines]
    return list(csv.reader(lines, delimiter=_one(sep)))


def _other_separator(text: str, used: str) -> str | None:
    """A separator besides the one in use that divides all lines below the second alike."""
    lines = [line for line in text[:1_000_000].splitlines() if line.strip()][2:LINES]
    for sep in SEPARATORS:
        counts = {len(row) for row in _rows(lines, sep)}
        if sep != used and len(counts) == 1 and min(counts) > 1:
            return sep
    return None


def _named(sep: str) -> str:
    return NAMES.get(sep, repr(sep))


def _short(text: str) -> str:
    """The first line, for a message."""
    return repr(text.lstrip().partition("\n")[0].rstrip()[:60])


def _one(sep: str) -> str:
    """One character, as the csv module wants it."""
    return sep if len(sep) == 1 else " "


def _decoded(raw: bytes, path: Path, encoding: str | None) -> tuple[str, str]:
    if raw[:4] == b"PK\x03\x04":
        raise DataError(f"{path} is no text but a zip file: if it is from Excel, call it .xlsx")
    if not raw.strip():
        raise DataError(f"{path} is empty")
    mark = next((name for start, name in MARKS.items() if raw.startswith(start)), None)
    if encoding is None and mark is None and b"\x00" in raw[:4096]:
        raise DataError(f"{path} is no text, or in an unusual encoding: give --encoding")
    for name in [encoding] if encoding else [mark or "utf-8", "cp1252", "latin-1"]:
        try:
            return name, raw.decode(name)
        except UnicodeDecodeError:
            continue
        except LookupError:
            raise DataError(f"there is no encoding {name!r}") from None
    raise DataError(f"{path} cannot be read as {encoding}: leave --encoding out, or give another")


def _below_comments(text: str) -> tuple[str, int]:
    """The text below lines that begin with #, and how many these are.

    The last of them is the header if it is divided as the line below it is.
    """
    lines = text.splitlines(keepends=True)
    n = next((i for i, line in enumerate(lines) if not line.startswith("#")), 0)
    if n and any(0 < lines[n - 1].count(sep) == lines[n].count(sep) for sep in SEPARATORS):
        n -= 1
    return "".join(lines[n:]), n


def _parsed(text: str, dialect: Dialect, how: Reading, path: Path) -> pd.DataFrame:
    try:
        return pd.read_csv(
            StringIO(text), sep=dialect.sep, decimal=dialect.decimal, thousands=dialect.thousands,
            na_values=list(how.na_values), skipinitialspace=True,
            engine="c" if len(dialect.sep) == 1 or dialect.sep == r"\s+" else "python",
        )  # fmt: skip
    except (ValueError, OSError) as broken:
        raise DataError(
            f"{path} cannot be read as a table ({dialect}): {str(broken).strip()}. Give --sep, "
            "--decimal or --encoding, and remove lines above the header"
        ) from broken
