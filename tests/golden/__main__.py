"""Record the numbers anew: ``python -m tests.golden [case ...]``."""

import sys
import time

from .record import CASES, FILE, answers_of, make_room, read, write


def main(names):
    numbers = read() if FILE.exists() and names else {}
    for place, name in enumerate(names or CASES):
        if place % 15 == 14:
            make_room()
        start = time.perf_counter()
        numbers[name] = answers_of(name)
        refused = [k for k, v in numbers[name].items() if "refused" in str(v.get("words"))]
        seconds = time.perf_counter() - start
        print(
            f"{name}: {len(numbers[name])} quantities, {seconds:.1f} s; refused: {refused}",
            flush=True,
        )
    write(numbers)


main(sys.argv[1:])
