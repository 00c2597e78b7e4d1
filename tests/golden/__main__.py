"""Record the numbers anew, or compare: ``python -m tests.golden [--compare] [case ...]``.

Before a change that must not alter behaviour, record on the machine at hand; afterwards,
``--compare`` lists every quantity that differs by more than 1e-8 of its scale.
"""

import sys
import time

from manyviews._runtime import make_room_for_programs

from .record import CASES, FILE, answers_of, difference, read, write

EXACT = 1e-8


def main(arguments):
    comparing = "--compare" in arguments
    names = [name for name in arguments if name != "--compare"]
    numbers = read() if FILE.exists() and (names or comparing) else {}
    for name in names or CASES:
        make_room_for_programs()
        start = time.perf_counter()
        found = answers_of(name)
        if comparing:
            print(f"{name}: {compared(found, numbers.get(name, {})) or 'the same'}", flush=True)
            continue
        numbers[name] = found
        refused = [k for k, v in found.items() if "refused" in str(v.get("words"))]
        seconds = time.perf_counter() - start
        print(f"{name}: {len(found)} quantities, {seconds:.1f} s; refused: {refused}", flush=True)
    if not comparing:
        write(numbers)


def compared(found, recorded):
    lines = [f"\n    {key} is new" for key in sorted(set(found) - set(recorded))]
    lines += [f"\n    {key} is gone" for key in sorted(set(recorded) - set(found))]
    for key in sorted(set(found) & set(recorded)):
        off = difference(found[key], recorded[key])
        if off > EXACT:
            lines.append(f"\n    {key} differs by {off:.1e}")
    return "".join(lines)


main(sys.argv[1:])
