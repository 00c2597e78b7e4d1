import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyviews.errors import OptionError
from manyviews.plot.shapes import Picture, choose_picture, guess_bones


@pytest.mark.parametrize(
    ("n", "columns", "told", "kind", "shape"),
    [
        (64, None, None, "image", (8, 8)),
        (64, range(64), None, "image", (8, 8)),
        (64, [f"gene {i}" for i in range(64)], None, "bars", (64,)),
        (49, None, None, "curve", (49,)),
        (32256, None, "192x168", "image", (192, 168)),
        (27, None, "3x3x3", "image", (3, 3, 3)),
        (6, None, None, "bars", (6,)),
        (25, [f"protein {i}" for i in range(25)], None, "bars", (25,)),
        (20, [400.0 + 2.5 * i for i in range(20)], None, "curve", (20,)),
        (5, [400.0 + 2.5 * i for i in range(5)], None, "bars", (5,)),
        (63, None, "skeleton", "skeleton", (21, 3)),
        (100, None, "curve", "curve", (100,)),
        (100, None, "bars", "bars", (100,)),
        (3, ["a_x", "a_y", "a_z"], None, "bars", (3,)),
        (9, ["min", "max", "may", "maz", "e", "f", "g", "h", "i"], None, "bars", (9,)),
    ],
)
def test_the_picture_follows_from_the_columns_or_from_what_is_told(n, columns, told, kind, shape):
    picture = choose_picture(n, columns, told)
    assert (picture.kind, picture.shape) == (kind, shape)
    assert sorted(picture.columns) == list(range(n))
    assert choose_picture(n, columns, picture) is picture


def test_names_tell_joints_and_pixels_in_any_order():
    picture = choose_picture(9, [f"{j}_{a}" for a in "zxy" for j in ("hip", "knee", "toe")])
    assert picture.kind == "skeleton"
    assert picture.names == ("hip", "knee", "toe")
    assert picture.columns == (3, 6, 0, 4, 7, 1, 5, 8, 2)
    picture = choose_picture(6, [f"pixel_{r}_{c}" for c in (1, 2, 3) for r in (1, 2)])
    assert (picture.kind, picture.shape) == ("image", (2, 3))
    assert picture.columns == (0, 2, 4, 1, 3, 5)
    assert choose_picture(4, ["p_0_0", "p_0_1", "p_0_2", "p_1_0"]).kind == "bars"


@given(st.integers(1, 5), st.integers(1, 5), st.sampled_from("CF"), st.sampled_from([(), (3,)]))
def test_arranging_is_reshaping(height, width, order, colours):
    shape = (height, width, *colours)
    rows = np.random.default_rng(0).normal(size=(2, int(np.prod(shape))))
    told = "x".join(map(str, shape)) + ":" + order
    arranged = choose_picture(rows.shape[1], None, told).arrange(rows)
    np.testing.assert_array_equal(arranged, [row.reshape(shape, order=order) for row in rows])


@pytest.mark.parametrize(
    ("n", "told", "message"),
    [
        (10, "3x3", "9 values, the view has 10"),
        (10, "5x2x2", "unknown shape"),
        (10, "0x0", "unknown shape"),
        (10, "cloud", "unknown shape"),
        (10, "5x2:Z", "'Z'"),
        (10, "skeleton", "no multiple of 3"),
        (9, "skeleton:0-3", "no bone"),
        (9, "skeleton:0-a", "pairs of joints"),
        (4, Picture("bars", (3,), (0, 1, 2)), "3 columns, not 4"),
    ],
)
def test_shapes_that_cannot_be_are_refused(n, told, message):
    with pytest.raises(OptionError, match=message):
        choose_picture(n, None, told)


def test_bones_are_told_or_found_in_a_chain_that_bends():
    assert choose_picture(9, None, "skeleton:0-1,1-2").bones == ((0, 1), (1, 2))
    assert choose_picture(6, None, "skeleton:F:0-1").columns == (0, 2, 4, 1, 3, 5)
    rng = np.random.default_rng(0)
    limbs = rng.normal(size=(50, 5, 3))
    limbs /= np.linalg.norm(limbs, axis=2, keepdims=True)
    chain = np.cumsum(limbs, axis=1)[:, [2, 0, 4, 1, 3]]
    bones = {tuple(sorted(bone)) for bone in guess_bones(chain)}
    assert bones == {(1, 3), (0, 3), (0, 4), (2, 4)}
    assert guess_bones(np.full((2, 3, 3), np.nan)) == ()
