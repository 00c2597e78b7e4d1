import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manyviews.errors import OptionError
from manyviews.kernels import RBF, Bias, Linear
from manyviews.parameters import (
    CONSTRAINTS,
    Parameter,
    fix,
    free,
    map_parameters,
    named_parameters,
    parameter,
    positive,
    split_free,
    with_positive_transform,
)

VALUES = {
    "real": st.floats(-1e6, 1e6),
    "positive": st.floats(1e-15, 1e15),
    "softplus": st.floats(1e-12, 1e6),
    "unit": st.floats(1e-9, 1 - 1e-9),
}


def flags(tree):
    return {name: p.free for name, p in named_parameters(tree)}


def values(tree):
    return {name: np.array(p.value) for name, p in named_parameters(tree)}


@pytest.mark.parametrize("constraint", sorted(CONSTRAINTS))
def test_value_survives_the_constraint(constraint):
    @settings(max_examples=25)
    @given(st.lists(VALUES[constraint], min_size=3, max_size=3))
    def check(numbers):
        p = parameter(np.array(numbers), constraint)
        np.testing.assert_allclose(p.value, numbers, rtol=1e-12, atol=1e-300)
        np.testing.assert_allclose(p.with_value(p.value).value, numbers, rtol=1e-12, atol=1e-300)

    check()


@pytest.mark.parametrize("constraint", sorted(CONSTRAINTS))
def test_any_raw_array_gives_an_allowed_value_and_a_finite_gradient(constraint):
    rule = CONSTRAINTS[constraint]
    raw = jnp.array([-700.0, -30.0, 0.0, 30.0, 700.0])
    value = np.asarray(rule.forward(raw))
    assert np.isfinite(value).all()
    inside = rule.allowed(value)
    assert inside[1:4].all()
    assert (np.diff(value) >= 0).all()
    assert np.isfinite(jax.grad(lambda r: rule.forward(r).sum())(raw)).all()


def test_an_extreme_positive_value_is_clipped_not_infinite():
    assert float(positive(1e300).value) == pytest.approx(np.exp(40.0), rel=1e-12)
    assert float(positive(1e-300).value) == pytest.approx(np.exp(-40.0), rel=1e-12)


@pytest.mark.parametrize(
    ("value", "constraint", "words"),
    [
        (0.0, "positive", "positive"),
        (-1.0, "softplus", "positive"),
        (np.nan, "positive", "positive"),
        (np.nan, "real", "finite"),
        (np.inf, "real", "finite"),
        (1.0, "unit", "between 0 and 1"),
        ([0.5, 0.0], "unit", "between 0 and 1"),
        ([1.0, -2.0], "positive", "positive"),
    ],
)
def test_a_value_outside_the_constraint_is_refused(value, constraint, words):
    with pytest.raises(OptionError, match=words):
        parameter(np.asarray(value), constraint)


@pytest.mark.parametrize("constraint", ["positive", "softplus"])
def test_infinity_is_no_positive_value(constraint):
    with pytest.raises(OptionError):
        parameter(np.inf, constraint)


def test_an_unknown_constraint_is_refused_with_the_known_ones():
    with pytest.raises(OptionError, match="softplus"):
        parameter(1.0, "log")


def test_with_value_keeps_constraint_and_flag_and_refuses_bad_values():
    p = parameter(2.0, "positive", free=False).with_value(3.0)
    assert (p.constraint, p.free) == ("positive", False)
    np.testing.assert_allclose(p.value, 3.0, rtol=1e-14)
    with pytest.raises(OptionError):
        p.with_value(-1.0)


def test_integers_become_float64_and_float32_stays():
    assert parameter(3).raw.dtype == jnp.float64
    assert parameter(np.ones(2, np.float32)).raw.dtype == jnp.float32


def test_names_are_dotted_paths():
    kernel = RBF() + Linear() * Bias()
    assert list(flags(kernel)) == [
        "parts.0.variance",
        "parts.0.lengthscale",
        "parts.1.parts.0.variances",
        "parts.1.parts.1.variance",
    ]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("parts.0.variance", ["parts.0.variance"]),
        ("variance", ["parts.0.variance", "parts.1.parts.1.variance"]),
        ("0.variance", ["parts.0.variance"]),
        ("parts.1.*", ["parts.1.parts.0.variances", "parts.1.parts.1.variance"]),
        (
            "variance*",
            ["parts.0.variance", "parts.1.parts.0.variances", "parts.1.parts.1.variance"],
        ),
    ],
)
def test_fix_and_free_by_name_end_of_name_or_pattern(pattern, expected):
    kernel = RBF() + Linear() * Bias()
    fixed = fix(kernel, pattern)
    assert [name for name, is_free in flags(fixed).items() if not is_free] == expected
    assert all(flags(free(fixed, pattern)).values())
    only = free(fix(kernel), pattern)
    assert [name for name, is_free in flags(only).items() if is_free] == expected


def test_fix_without_names_fixes_everything_and_changes_no_value():
    kernel = RBF(2.0, np.array([0.5, 3.0])) + Bias(0.1)
    fixed = kernel.fix()
    assert not any(flags(fixed).values())
    assert all(flags(fixed.free()).values())
    for name, value in values(fixed).items():
        np.testing.assert_array_equal(value, values(kernel)[name])


def test_several_names_at_once():
    fixed = (RBF() + Bias()).fix("lengthscale", "parts.1.variance")
    assert flags(fixed) == {
        "parts.0.variance": True,
        "parts.0.lengthscale": False,
        "parts.1.variance": False,
    }


@pytest.mark.parametrize("verb", [fix, free])
def test_an_unknown_name_is_an_error_that_lists_what_there_is(verb):
    with pytest.raises(OptionError) as caught:
        verb(RBF(), "variance", "lengthscales")
    assert "'lengthscales'" in str(caught.value)
    assert "'variance'" in str(caught.value)
    assert "'lengthscale'" in str(caught.value)


@pytest.mark.parametrize("transform", ["log", "softplus"])
def test_positive_transform_keeps_values_and_flags(transform):
    tree = (
        RBF(1e-3, np.array([0.5, 20.0])).fix("variance"),
        parameter(-1.0),
        parameter(0.3, "unit"),
    )
    changed = with_positive_transform(tree, transform)
    back = with_positive_transform(changed, "log")
    assert flags(changed) == flags(tree)
    wanted = {"log": "positive", "softplus": "softplus"}[transform]
    assert [p.constraint for _, p in named_parameters(changed)] == [wanted, wanted, "real", "unit"]
    for name, value in values(tree).items():
        np.testing.assert_allclose(values(changed)[name], value, rtol=1e-13)
        np.testing.assert_allclose(values(back)[name], value, rtol=1e-13)


def test_split_free_holds_exactly_the_free_arrays_and_combines_back():
    tree = (RBF(2.0, np.array([0.5, 3.0])).fix("variance"), jnp.arange(3.0), "label", Bias(0.1))
    loose, rest = split_free(tree)
    arrays = jax.tree_util.tree_leaves(loose)
    assert [a.shape for a in arrays] == [(2,), ()]
    np.testing.assert_array_equal(arrays[0], tree[0].lengthscale.raw)
    np.testing.assert_array_equal(arrays[1], tree[3].variance.raw)
    whole = eqx.combine(loose, rest)
    assert jax.tree_util.tree_structure(whole) == jax.tree_util.tree_structure(tree)
    assert eqx.tree_equal(whole, tree)


def test_split_free_of_fixed_parameters_is_empty():
    loose, _ = split_free(RBF().fix())
    assert jax.tree_util.tree_leaves(loose) == []


def test_gradients_reach_free_parameters_only():
    kernel = RBF(2.0, 0.7).fix("lengthscale")
    loose, rest = split_free(kernel)
    x, z = jnp.array([0.3]), jnp.array([1.0])
    gradient = jax.grad(lambda part: eqx.combine(part, rest)(x, z))(loose)
    (slope,) = jax.tree_util.tree_leaves(gradient)
    np.testing.assert_allclose(slope, kernel(x, z), rtol=1e-12)


def test_map_parameters_sees_every_parameter_and_leaves_the_rest():
    tree = {"a": positive(2.0), "b": jnp.ones(2)}
    doubled = map_parameters(lambda _, p: p.with_value(2.0 * p.value), tree)
    np.testing.assert_allclose(doubled["a"].value, 4.0, rtol=1e-14)
    assert doubled["b"] is tree["b"]


@pytest.mark.parametrize("constraint", ["positive", "unit"])
@pytest.mark.parametrize("raw", [-1e3, 1e3])
def test_values_at_the_end_of_the_scale_are_still_allowed(constraint, raw):
    """A fit may run there, and its result is handed on by value."""
    p = Parameter(jnp.asarray(raw), constraint, True)
    again = p.with_value(p.value)
    np.testing.assert_allclose(again.value, p.value)
