"""Tables of what was tried: ``python -m tests.fuzz.summary FILE.json`` for the documentation."""

import json
import sys
from collections import defaultdict
from typing import Any

import numpy as np


def text(result: dict[str, Any]) -> str:
    """Markdown: one line for each part, then the coverage."""
    versions = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
    lines = [
        f"`{result['command']}` (Python {result['python']}, {versions})",
        "",
        "| part | cases | outcomes | wrong | not finished |",
        "|---|---:|---|---:|---:|",
    ]
    for name, part in result["parts"].items():
        counts = dict(part["counts"])
        wrong = counts.pop("wrong", 0)
        told = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(counts.items()))
        kills = sum(one.get("kills", 0) for one in part.get("numbers", ()))
        told += f" ({kills} kills)" if kills else ""
        whole = sum(counts.values()) + wrong
        lines.append(f"| {name} | {whole:,} | {told} | {wrong:,} | {part['unfinished']} |")
    if "coverage" in result["parts"]:
        lines += ["", *coverage_lines(result["parts"]["coverage"]["numbers"])]
    return "\n".join(lines)


def coverage_lines(numbers: list[dict[str, Any]]) -> list[str]:
    """Coverage of 90 % intervals by model and question, over the sets that were drawn."""
    by_question = defaultdict(list)
    for one in numbers:
        for question, share in one.items():
            if question != "case":
                by_question[question].append(share)
    lines = [
        "| question | sets | coverage of 90 % intervals | standard error |",
        "|---|---:|---:|---:|",
    ]
    for question, shares in sorted(by_question.items()):
        error = np.std(shares, ddof=1) / np.sqrt(len(shares)) if len(shares) > 1 else np.nan
        lines.append(f"| {question} | {len(shares)} | {np.mean(shares):.3f} | {error:.3f} |")
    return lines


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        print(text(json.load(file)))
