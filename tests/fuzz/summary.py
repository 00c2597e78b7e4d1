"""Tables of what was tried: ``python -m tests.fuzz.summary`` for the documentation.

    python -m tests.fuzz.summary FILE.json …                 prints the tables of these runs,
                                                             coverage and ranks of all together
    python -m tests.fuzz.summary --into PAGE FILE.json …     writes them into a page

A page holds them between ``<!-- tables -->`` and ``<!-- end of tables -->``.
"""

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import chisquare

BEGIN, END = "<!-- tables -->", "<!-- end of tables -->"
TABULATED = (("coverage", "other-coverage"), ("samplers",))
"""Parts whose numbers are what they are for, by the table that shows them."""
PER_BIN = 10  # ranks expected in a bin, at least
MOST_BINS = 20


def text(*results: dict[str, Any]) -> str:
    """Markdown: one line for each part of every run, then coverage and ranks of all together."""
    lines = "\n\n".join(map(_parts, results)).split("\n")
    for names, table in zip(TABULATED, (coverage_lines, rank_lines), strict=True):
        of_all = [one for result in results for name in names
                  for one in result["parts"].get(name, {}).get("numbers", ())]  # fmt: skip
        if of_all:
            lines += ["", *table(of_all)]
    return "\n".join(lines)


def _parts(result: dict[str, Any]) -> str:
    versions = ", ".join(
        f"{name} {number}" for name, number in result["versions"].items()
        if number != "not installed"
    )  # fmt: skip
    absent = [name for name, number in result["versions"].items() if number == "not installed"]
    about = f"Python {result['python']}, {versions}"
    about += f"; without {', '.join(absent)}" if absent else ""
    about += f"; {result['machine']}" if "machine" in result else ""
    lines = [
        f"`{result['command']}`",
        "",
        f"({about})",
        "",
        "| part | cases | outcomes | wrong | not finished |",
        "|---|---:|---|---:|---:|",
    ]
    for name, part in result["parts"].items():
        counts = dict(part["counts"])
        wrong = counts.pop("wrong", 0)
        told = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(counts.items()))
        for what in ("kills", "full disks"):
            number = sum(one.get(what, 0) for one in part.get("numbers", ()))
            told += f"; {number:,} {what}" if number else ""
        whole = sum(counts.values()) + wrong
        lines.append(f"| {name} | {whole:,} | {told} | {wrong:,} | {part['unfinished']} |")
    return "\n".join(lines)


def coverage_lines(numbers: list[dict[str, Any]]) -> list[str]:
    """Coverage of 90 % intervals by model and question, over the sets that were drawn."""
    lines = [
        "| question | sets | coverage of 90 % intervals | standard error |",
        "|---|---:|---:|---:|",
    ]
    for question, shares in sorted(_by_question(numbers).items()):
        error = np.std(shares, ddof=1) / np.sqrt(len(shares)) if len(shares) > 1 else np.nan
        lines.append(f"| {question} | {len(shares)} | {np.mean(shares):.3f} | {error:.3f} |")
    return lines


def rank_lines(numbers: list[dict[str, Any]]) -> list[str]:
    """Whether ranks of true values are uniform, by quantity."""
    lines = [
        "| quantity | replications | mean rank | counts in bins | χ² | p |",
        "|---|---:|---:|---|---:|---:|",
    ]
    for quantity, ranks in sorted(_by_question(numbers).items()):
        bins = int(np.clip(len(ranks) // PER_BIN, 2, MOST_BINS))
        counts = np.histogram(ranks, bins, (0.0, 1.0))[0]
        found = chisquare(counts)
        shown = " ".join(map(str, counts))
        lines.append(
            f"| {quantity} | {len(ranks)} | {np.mean(ranks):.2f} | {shown} "
            f"| {found.statistic:.1f} | {found.pvalue:.2f} |"
        )
    return lines


def written_into(page: str, tables: str) -> str:
    """The page with other tables."""
    before, rest = page.split(BEGIN, 1)
    return f"{before}{BEGIN}\n\n{tables}\n\n{END}{rest.split(END, 1)[1]}"


def _by_question(numbers: list[dict[str, Any]]) -> dict[str, list[float]]:
    found = defaultdict(list)
    for one in numbers:
        for question, value in one.items():
            if question != "case":
                found[question].append(value)
    return found


def main() -> None:
    """Print the tables, or write them into a page."""
    parser = argparse.ArgumentParser("python -m tests.fuzz.summary")
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--into", type=Path, metavar="PAGE")
    asked = parser.parse_args()
    tables = text(*(json.loads(file.read_text()) for file in asked.files))
    if asked.into:
        asked.into.write_text(written_into(asked.into.read_text(), tables))
    else:
        print(tables)


if __name__ == "__main__":
    main()
