"""Which picture suits a view: image, skeleton, curve or bars, told by its columns."""

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float
from scipy.sparse.csgraph import minimum_spanning_tree

from ..errors import OptionError

Kind = Literal["image", "skeleton", "curve", "bars"]
Bones = tuple[tuple[int, int], ...]

SMALLEST_SQUARE = 8  # a side; fewer pixels are rather a table than an image
MOST_NUMBERED_BARS = 24  # columns without names; more are a curve
FEWEST_CURVE = 8  # columns with numbers for names (wavelengths, times); fewer are bars
_AXIS = re.compile(r"(.*)[ _.-]([xyz])", re.IGNORECASE)
_PIXEL = re.compile(r"\D*(\d+)\D(\d+)")


@dataclass(frozen=True)
class Picture:
    """How the columns of a view are drawn.

    Attributes
    ----------
    kind : {"image", "skeleton", "curve", "bars"}
        What the columns are drawn as.
    shape : tuple of int
        (height, width) or (height, width, 3) of an image, (joints, 3) of a skeleton, else
        (columns,).
    columns : tuple of int
        The view's columns in the order of the picture: pixels row by row, x, y, z of each joint.
    names : tuple of str
        Of the joints, or of the columns; none for an image.
    bones : tuple of pairs of int
        The joints that a skeleton's lines connect; see `guess_bones()`.
    """

    kind: Kind
    shape: tuple[int, ...]
    columns: tuple[int, ...]
    names: tuple[str, ...] = ()
    bones: Bones = ()

    def arrange(self, values: Float[np.ndarray, "*N D"]) -> Float[np.ndarray, "..."]:
        """Rows of the view as pictures: (..., *shape)."""
        return values[..., list(self.columns)].reshape(*values.shape[:-1], *self.shape)


def choose_picture(
    n_columns: int, columns: Sequence[Any] | None = None, shape: str | Picture | None = None
) -> Picture:
    """The picture of a view with these columns.

    Parameters
    ----------
    columns : sequence, optional
        Their names; default: numbers.
    shape : str or Picture, optional
        What the user says: ``"192x168"``, ``"32x32x3"`` (colours), with ``":F"`` if pixels are
        stored column by column; ``"skeleton"`` (x, y, z joint by joint; ``":F"`` if all x come
        first), with bones as in ``"skeleton:0-1,1-2"``; ``"curve"``; ``"bars"``. By default it
        is guessed: joints by column names ending in _x, _y, _z; images by names such as
        ``pixel_3_5``, or by a square number (from 64) of columns without names; bars for columns
        with names, and for few without; curves for the rest.
    """
    names = [str(name) for name in (range(n_columns) if columns is None else columns)]
    if isinstance(shape, Picture):
        if len(shape.columns) != n_columns:
            raise OptionError(f"the picture has {len(shape.columns)} columns, not {n_columns}")
        return shape
    if shape is not None:
        return _as_told(shape, names)
    return _joints_by_name(names) or _pixels_by_name(names) or _by_number(names)


def guess_bones(joints: Float[np.ndarray, "N J 3"]) -> Bones:
    """Connect the joints of moving bodies by a tree of what is near and keeps its distance.

    The minimum spanning tree for std + mean/20 of the distance of every two joints.
    """
    joints = joints[~np.isnan(joints).any(axis=(1, 2))][:2000]
    if not len(joints):
        return ()
    apart = np.stack([np.linalg.norm(joints - joints[:, j : j + 1], axis=2) for j in
                      range(joints.shape[1])])  # fmt: skip
    mean, spread = apart.mean(axis=1), apart.std(axis=1)
    cost = spread + mean / 20.0
    tree = minimum_spanning_tree(cost + 1e-9 * max(float(cost.max()), 1e-300)).tocoo()
    return tuple((int(a), int(b)) for a, b in zip(tree.row, tree.col, strict=True) if a != b)


def _as_told(told: str, names: list[str]) -> Picture:
    kind, *extras = told.strip().split(":")
    order: Any = "F" if "F" in extras else "C"
    extras = [extra for extra in extras if extra not in {"C", "F"}]
    n, places = len(names), tuple(range(len(names)))
    if kind == "skeleton":
        if n % 3:
            raise OptionError(
                f"a skeleton needs x, y and z of every joint; {n} is no multiple of 3"
            )
        by_name = _joints_by_name(names, fewest=1)
        columns = tuple(np.arange(n).reshape((n // 3, 3), order=order).ravel().tolist())
        joints = tuple(str(j) for j in range(n // 3))
        if by_name is not None:
            columns, joints = by_name.columns, by_name.names
        return Picture("skeleton", (n // 3, 3), columns, joints, _bones(extras, n // 3))
    if extras:
        raise OptionError(f"what does {extras[0]!r} in the shape {told!r} mean? {_KNOWN}")
    if kind in get_args(Kind) and kind != "image":
        return Picture(kind, (n,), places, tuple(names))  # type: ignore[arg-type]
    try:
        sides = tuple(int(side) for side in kind.lower().split("x"))
    except ValueError:
        raise OptionError(f"unknown shape {told!r}: {_KNOWN}") from None
    if len(sides) not in {2, 3} or min(sides) < 1 or (len(sides) == 3 and sides[2] != 3):
        raise OptionError(f"unknown shape {told!r}: {_KNOWN}")
    if math.prod(sides) != n:
        raise OptionError(f"an image of {kind} has {math.prod(sides)} values, the view has {n}")
    return Picture("image", sides, tuple(np.arange(n).reshape(sides, order=order).ravel().tolist()))


_KNOWN = (
    "give HEIGHTxWIDTH, HEIGHTxWIDTHx3 (':F' behind it if stored column by column), 'skeleton', "
    "'skeleton:0-1,1-2', 'curve' or 'bars'"
)


def _bones(extras: list[str], n_joints: int) -> Bones:
    pairs = [pair.split("-") for extra in extras for pair in extra.split(",")]
    try:
        bones = tuple((int(a), int(b)) for a, b in pairs)
    except ValueError:
        raise OptionError(f"bones are pairs of joints such as 0-1,1-2, got {extras}") from None
    wrong = [bone for bone in bones if not all(0 <= joint < n_joints for joint in bone)]
    if wrong:
        raise OptionError(f"there is no bone {wrong[0]}: the joints are 0 to {n_joints - 1}")
    return bones


def _joints_by_name(names: list[str], fewest: int = 3) -> Picture | None:
    found = [_AXIS.fullmatch(name) for name in names]
    if not all(found):
        return None
    places: dict[str, dict[str, int]] = {}
    for place, match in enumerate(found):
        assert match is not None
        places.setdefault(match[1], {})[match[2].lower()] = place
    complete = all(len(axes) == 3 for axes in places.values()) and len(names) == 3 * len(places)
    if not complete or len(places) < fewest:
        return None
    columns = tuple(axes[axis] for axes in places.values() for axis in "xyz")
    return Picture("skeleton", (len(places), 3), columns, tuple(places))


def _pixels_by_name(names: list[str]) -> Picture | None:
    found = [_PIXEL.fullmatch(name) for name in names]
    if not all(found):
        return None
    at = np.array([(int(m[1]), int(m[2])) for m in found if m is not None])
    at -= at.min(axis=0)
    height, width = (int(side) for side in at.max(axis=0) + 1)
    if min(height, width) < 2 or height * width != len(names):
        return None
    flat = at[:, 0] * width + at[:, 1]
    if len(np.unique(flat)) < len(names):
        return None
    return Picture("image", (height, width), tuple(np.argsort(flat).tolist()))


def _by_number(names: list[str]) -> Picture:
    n, side = len(names), math.isqrt(len(names))
    places = tuple(range(n))
    numbered = names == [str(place) for place in places]
    if numbered and side * side == n and side >= SMALLEST_SQUARE:
        return Picture("image", (side, side), places)
    many = n > MOST_NUMBERED_BARS if numbered else n >= FEWEST_CURVE and _increasing(names)
    return Picture("curve" if many else "bars", (n,), places, tuple(names))


def _increasing(names: list[str]) -> bool:
    try:
        values = [float(name) for name in names]
    except ValueError:
        return False
    return all(a < b for a, b in itertools.pairwise(values))
