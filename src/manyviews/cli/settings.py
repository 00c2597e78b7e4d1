"""The options of a run: from flags, from a TOML file, and back into one."""

import json
import tomllib
from dataclasses import asdict, dataclass, field, fields
from datetime import date, time
from pathlib import Path
from typing import Any, Self

from ..errors import OptionError
from ..options import Kind, count, instance_of, number
from ..storage import write_text


@dataclass
class RunOptions:
    """Everything that decides what ``manyviews fit`` does.

    Attributes
    ----------
    views : dict of str
        Files by the name of their view; a container of several views has the name "".
    model : str
        See ``manyviews fit --help``.
    seed : int
    hold_out : float
        Share of the samples held out to assess predictions.
    index : str, optional
        The column that names the samples; ``indexes`` says so for single views.
    sep, decimal, encoding : str, optional
        How text files are written; found out where not given.
    na_values : list of str
        Marks of missing values besides the usual ones.
    times, sequences, labels : str, optional
        Files (``path:column``).
    shapes : dict of str
        How to draw views.
    levels : dict of list
        The words that numbers stand for in views with a categorical likelihood, by VIEW:COLUMN.
    title : str, optional
    options : dict
        Parameters of the estimator.
    """

    views: list[str] = field(default_factory=list)
    model: str = "mrd"
    seed: int = 0
    hold_out: float | None = None
    index: str | None = None
    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    na_values: list[str] = field(default_factory=list)
    times: str | None = None
    sequences: str | None = None
    labels: str | None = None
    title: str | None = None
    indexes: dict[str, str] = field(default_factory=dict)
    shapes: dict[str, str] = field(default_factory=dict)
    levels: dict[str, list[str]] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Self:
        """From a TOML file; paths in it are relative to where it lies."""
        try:
            found = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise OptionError(f"there is no file {path}") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as wrong:
            raise OptionError(f"{path} is not a TOML file: {wrong}") from wrong
        known = {f.name for f in fields(cls)}
        unknown = sorted(set(found) - known)
        if unknown:
            raise OptionError(f"{path}: unknown option {unknown[0]!r}; known are {sorted(known)}")
        for name, value in found.items():
            kind = KINDS[name]
            if not kind.fits(value):
                raise OptionError(f"{path}: {name} must be {kind.description}, got {value!r}")
        options = cls(**found)
        options.views = [_beside(path, source) for source in options.views]
        for name in ("times", "sequences", "labels"):
            if getattr(options, name):
                setattr(options, name, _beside(path, getattr(options, name)))
        return options

    def override(self, **given: Any) -> None:
        """Let flags that were given win over the file."""
        for name, value in given.items():
            if isinstance(value, dict):
                getattr(self, name).update(value)
            elif value is not None and value != []:
                if name == "seed" and value < 0:
                    raise OptionError(f"--seed must be at least 0, got {value}")
                setattr(self, name, value)

    def write(self, path: Path) -> None:
        """To a TOML file, with absolute paths, so that it can be read from anywhere."""
        content = asdict(self)
        content["views"] = [_absolute(source) for source in self.views]
        for name in ("times", "sequences", "labels"):
            if content[name]:
                content[name] = _absolute(content[name])
        text = to_toml(content)
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as wrong:
            raise OptionError(
                f"{text[wrong.start - 20 : wrong.end]!r} is not text: rename the file"
            ) from wrong
        write_text(path, text)


def _all_texts(values: Any) -> bool:
    return all(isinstance(value, str) for value in values)


TEXT = instance_of(str)
TEXTS = Kind("a table of texts", lambda v: isinstance(v, dict) and _all_texts(v.values()))
KINDS = {
    "views": Kind("a list of files", lambda v: isinstance(v, list) and _all_texts(v)),
    "model": TEXT,
    "seed": count(0),
    "hold_out": number(0, 1, "left"),
    "index": TEXT,
    "sep": TEXT,
    "decimal": TEXT,
    "encoding": TEXT,
    "na_values": Kind("a list of texts", lambda v: isinstance(v, list) and _all_texts(v)),
    "times": TEXT,
    "sequences": TEXT,
    "labels": TEXT,
    "title": TEXT,
    "indexes": TEXTS,
    "shapes": TEXTS,
    "levels": Kind(
        "a table of lists of texts",
        lambda v: (
            isinstance(v, dict) and all(isinstance(w, list) and _all_texts(w) for w in v.values())
        ),
    ),
    "options": instance_of(dict),
}


def to_toml(content: dict[str, Any]) -> str:
    """A flat TOML document: values first, then one level of tables; None is left out."""
    plain = {k: v for k, v in content.items() if not isinstance(v, dict) and v is not None}
    lines = [f"{_key(name)} = {_value(value)}" for name, value in plain.items()]
    for name, table in content.items():
        if isinstance(table, dict) and table:
            lines += ["", f"[{_key(name)}]"]
            entries = {k: v for k, v in table.items() if v is not None}
            lines += [f"{_key(k)} = {_value(v)}" for k, v in entries.items()]
    return "\n".join(lines) + "\n"


def parse_assignments(pairs: list[str], what: str) -> dict[str, Any]:
    """``name=value`` pairs, values read as TOML and, failing that, as text."""
    found = {}
    for pair in pairs:
        name, sign, text = pair.partition("=")
        if not sign or not name:
            raise OptionError(f"{what} takes name=value, got {pair!r}")
        try:
            found[name] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            found[name] = text
    return found


def _key(name: str) -> str:
    bare = name.replace("_", "").replace("-", "").isalnum() and name.isascii()
    return name if bare else _text(name)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(v) for v in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date | time):
        return value.isoformat()
    return _text(value) if isinstance(value, str) else repr(value)


def _text(value: str) -> str:
    """A string as TOML has it: characters beyond the basic plane as they are, DEL not."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _beside(path: Path, source: str) -> str:
    name, sign, file = source.rpartition("=")
    return f"{name}{sign}{path.parent / file}"


def _absolute(source: str) -> str:
    name, sign, file = ("", "", source) if Path(source).exists() else source.rpartition("=")
    return f"{name}{sign}{Path(file).resolve()}"
