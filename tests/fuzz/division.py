"""How processes and time are divided among parts."""

import argparse

from .case import Part


def amounts(text: str) -> dict[str, int]:
    """``inputs=2,files=3`` as numbers by part."""
    found = {}
    for one in text.split(","):
        name, _, number = one.partition("=")
        if not number.isdecimal() or not int(number):
            raise argparse.ArgumentTypeError(f"{one!r} is not of the form PART=NUMBER")
        found[name] = int(number)
    return found


def rounds(parts: dict[str, Part], asked: argparse.Namespace) -> list[tuple[dict[str, int], float]]:
    """Which parts run side by side, in how many processes, and how many seconds."""
    seconds = 60.0 * asked.minutes
    if asked.processes:
        return [(asked.processes, seconds)]
    whole = sum(part.share for part in parts.values())
    jobs = asked.jobs
    if jobs < len(parts):  # one after another
        return [({name: jobs}, seconds * part.share / whole) for name, part in parts.items()]
    given = {name: max(1, int(jobs * part.share / whole)) for name, part in parts.items()}
    wanted = sorted(parts, key=lambda name: -(jobs * parts[name].share / whole - given[name]))
    while sum(given.values()) > jobs:
        given[max(given, key=given.get)] -= 1
    for name in wanted[: jobs - sum(given.values())]:
        given[name] += 1
    return [(given, seconds)]
