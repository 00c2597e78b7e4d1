"""Numbers of cases, handed out to the processes of a part as they ask for them."""

import fcntl
import os
import struct
from pathlib import Path

AT_ONCE = 0.5  # seconds that the cases of one block should take
MOST = 200  # cases of a block


class Tickets:
    """The next number of a part, in a file that its processes share.

    Parameters
    ----------
    folder : Path
        Of the part.
    limit : int or None
        Numbers from here on are not given out.
    """

    def __init__(self, folder: Path, limit: int | None = None):
        self.path, self.stop, self.limit = folder / "next", folder / "stop", limit

    def take(self, seconds_each: float) -> range:
        """Some numbers that nobody else has: more of them where cases are short."""
        if self.stop.exists():
            return range(0)
        number = max(1, min(MOST, int(AT_ONCE / max(seconds_each, 1e-9))))
        file = os.open(self.path, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            (first,) = struct.unpack("<q", os.read(file, 8) or bytes(8))
            end = first + number if self.limit is None else min(first + number, self.limit)
            os.pwrite(file, struct.pack("<q", max(first, end)), 0)
        finally:
            os.close(file)  # which unlocks it
        return range(first, end)

    def no_more(self) -> None:
        """Give out nothing from now on."""
        self.stop.touch()


class Place:
    """Which case a process is at, and the last that it has taken, in a file of its own."""

    NOTHING = (-1, -1)

    def __init__(self, path: Path):
        self.path = path

    def read(self) -> tuple[int, int]:
        """The case, and the end of its block; -1 where no case has begun."""
        try:
            return struct.unpack("<qq", self.path.read_bytes())
        except (OSError, struct.error):
            return self.NOTHING

    def write(self, number: int, end: int) -> None:
        """Note a case that begins."""
        if not hasattr(self, "file"):
            self.file = open(self.path, "wb", buffering=0)  # noqa: SIM115
        self.file.seek(0)
        self.file.write(struct.pack("<qq", number, end))
