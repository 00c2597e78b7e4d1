"""Files that appear whole or not at all; an error names the path and says what to do."""

import errno
import hashlib
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import save_file

from .errors import FileWriteError

REMEDIES = {
    errno.ENOSPC: "the disk is full: free some space, or name another place",
    errno.EDQUOT: "your quota is used up: free some space, or name another place",
    errno.EFBIG: "the file is too large for this file system: name another place",
    errno.EROFS: "the disk is read-only: name another place",
    errno.EACCES: "you may not write there: change its permissions, or name another place",
    errno.EPERM: "you may not write there: change its permissions, or name another place",
    errno.ENOENT: "its folder does not exist: create it first",
    errno.ENOTDIR: "a part of its path is a file, not a folder: name another place",
    errno.EISDIR: "there is a folder of that name: name a file",
    errno.EEXIST: "there is a file of that name: name another place",
    errno.ENAMETOOLONG: "its name is too long: name a shorter one",
}
LONGEST_STEM = 100  # characters of a file's name that its temporary neighbour keeps


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn what the operating system says of a path into a `FileWriteError`."""
    try:
        yield
    except FileWriteError:
        raise
    except (OSError, SafetensorError) as wrong:
        raise FileWriteError(f"{os.fspath(path)} cannot be written: {_remedy(wrong)}") from wrong


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A new file beside ``path`` that takes its place if the block ends well.

    If it does not, the new file goes and the old one stays. The content is on the disk before
    the place is taken, and the file's mode is what the user's umask says.
    """
    path = Path(path)
    part = path.with_name(f"{path.name[:LONGEST_STEM]}.{secrets.token_hex(4)}.part")
    with writing(path):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "is a folder", str(path))
        try:
            with open(part, "xb") as file:
                mode = os.fstat(file.fileno()).st_mode & 0o777
            yield part
            os.chmod(part, mode)
            with open(part, "r+b") as file:
                os.fsync(file.fileno())
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file, in the place of one that may be there."""
    with replacing(path) as part:
        part.write_bytes(text.encode("utf-8", errors="replace"))


def write_tensors(
    path: str | os.PathLike[str], tensors: Mapping[str, np.ndarray], header: Mapping[str, str]
) -> None:
    """A safetensors file whose header holds a checksum of all else."""
    content = dict(header)
    content["sha256"] = digest(header, tensors)
    with replacing(path) as part:
        save_file(dict(tensors), part, content)


def digest(header: Mapping[str, str], tensors: Mapping[str, np.ndarray]) -> str:
    """SHA-256 of the header, less the checksum in it, and of the tensors."""
    found = hashlib.sha256()
    for name in sorted(header):
        if name != "sha256":
            found.update(f"{len(name)}:{name}{len(header[name])}:{header[name]}".encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        found.update(f"{len(name)}:{name}{tensor.dtype}{tensor.shape}".encode())
        found.update(np.ascontiguousarray(tensor).data)
    return found.hexdigest()


def explained(wrong: OSError) -> str:
    """What the operating system complains of, with its path and the remedy."""
    if isinstance(wrong, FileWriteError) or not wrong.filename:
        return str(wrong)
    return f"{wrong.filename}: {_remedy(wrong)}"


def _remedy(wrong: OSError | SafetensorError) -> str:
    number = getattr(wrong, "errno", None)
    if number is None:  # safetensors says it in words
        said = re.search(r"os error (\d+)", str(wrong))
        number = int(said[1]) if said else None
    return REMEDIES.get(number or 0, str(wrong))
