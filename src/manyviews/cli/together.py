"""``manyviews fit`` in several processes: all compute, the first writes."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from ..devices import agreed
from ..processes import join_processes
from .run_folder import RunFolder


@contextmanager
def own_folder(folder: RunFolder, resume: bool, overwrite: bool) -> Iterator[tuple[RunFolder, int]]:
    """The folder that this process writes to, and its number among all.

    The first writes to the run's folder. Every other has a temporary one, with the checkpoint of
    the run that is gone on with, so that all start at the same place.
    """
    place = join_processes()
    if place == 0:
        if not resume:
            folder.create(overwrite)
        agreed(0)  # the others have what they need
        yield folder, place
        return
    with TemporaryDirectory() as temporary:
        own = RunFolder(Path(temporary) / "run")
        own.create(overwrite=False)
        if resume and folder.checkpoint.exists():
            shutil.copy(folder.checkpoint, own.checkpoint)
        agreed(0)
        yield own, place
