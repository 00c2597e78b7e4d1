"""Counting and fitting, for the problems of the thesis."""

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from .table import Row, summarise


def fitted(model: Any, views: dict[str, np.ndarray], quick: bool) -> Any:
    """The model, fitted; roughly, where it shall be quick."""
    if quick:
        model.set_params(search__max_iter=40, search__tol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(views)


class Tally:
    """Values by method and measure, and the seconds that methods took to fit."""

    def __init__(self) -> None:
        self.values: dict[tuple[str, str], list[float]] = {}
        self.seconds: dict[str, list[float]] = {}
        self.notes: dict[tuple[str, str], str] = {}

    def add(self, method: str, measure: str, value: float, note: str = "") -> None:
        """One more value."""
        self.values.setdefault((method, measure), []).append(float(value))
        if note:
            self.notes[method, measure] = note

    def took(self, method: str, model: Any) -> None:
        """The time of one more fit; only our models are timed."""
        self.seconds.setdefault(method, []).append(float(model.fit_info_.seconds))

    def content(self) -> dict[str, Any]:
        """All of it, as JSON has it."""
        return {
            "values": [[*key, values] for key, values in self.values.items()],
            "seconds": self.seconds,
            "notes": [[*key, note] for key, note in self.notes.items()],
        }

    @classmethod
    def of(cls, contents: Iterable[dict[str, Any]]) -> "Tally":
        """Several in one."""
        tally = cls()
        for content in contents:
            for method, measure, values in content["values"]:
                tally.values.setdefault((method, measure), []).extend(values)
            for method, seconds in content["seconds"].items():
                tally.seconds.setdefault(method, []).extend(seconds)
            tally.notes |= {(method, measure): note for method, measure, note in content["notes"]}
        return tally

    def rows(self, published: dict[tuple[str, str], float] | None = None) -> list[Row]:
        """Means and spreads, ours marked."""
        return [
            summarise(
                method, measure, values, ours=method in self.seconds,
                seconds=float(np.mean(self.seconds.get(method, [0.0]))),
                published=(published or {}).get((method, measure)),
                note=self.notes.get((method, measure), ""),
            )
            for (method, measure), values in self.values.items()
        ]  # fmt: skip
