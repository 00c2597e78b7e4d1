"""One fit at a time on one checkpoint: a lock that ends with the process that holds it."""

import contextlib
import errno
import os
from pathlib import Path

from ..errors import CheckpointInUseError
from ..storage import writing

try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be deleted
    fcntl = None  # type: ignore[assignment]


class Lock:
    """A file beside another, ``NAME.lock``, that only one process can hold.

    To take it shows, too, that its folder is there and can be written to.
    """

    def __init__(self, path: Path):
        self.guarded = path
        self.path = path.with_name(path.name + ".lock")
        self.descriptor: int | None = None

    def take(self) -> None:
        """Hold the file, or say who does."""
        while self.descriptor is None:
            descriptor = self._opened()
            if not _locked(descriptor):
                os.close(descriptor)
                raise CheckpointInUseError(
                    f"another fit is using the checkpoint {self.guarded}: wait for it to end, or "
                    "give every fit a checkpoint of its own"
                )
            if _is_at(descriptor, self.path):  # and was not deleted by who held it last
                self.descriptor = descriptor
            else:
                os.close(descriptor)

    def release(self) -> None:
        """Let go of it, and delete it."""
        if self.descriptor is None:
            return
        if fcntl is not None:  # first, so that nobody takes a file that is about to go
            self.path.unlink(missing_ok=True)
        os.close(self.descriptor)
        self.descriptor = None
        if fcntl is None:
            with contextlib.suppress(OSError):  # somebody else has it already
                self.path.unlink()

    def _opened(self) -> int:
        with writing(self.guarded):
            if self.guarded.is_dir():
                raise IsADirectoryError(errno.EISDIR, "is a folder", str(self.guarded))
            return os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)


def _locked(descriptor: int) -> bool:
    try:
        if fcntl is None:
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as refused:  # other refusals are of file systems that know no locks
        return refused.errno not in {errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK}
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False
