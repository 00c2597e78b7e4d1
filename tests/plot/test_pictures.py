import numpy as np
import pytest
from matplotlib.figure import Figure

from manyviews import MRD, BayesianGPLVM, Search, plot
from manyviews.errors import OptionError
from manyviews.plot.drawing import flat_joints
from manyviews.plot.latent import sample_groups
from manyviews.plot.quality import coverage
from manyviews.plot.subject import Subject

pytestmark = pytest.mark.filterwarnings("ignore::manyviews.errors.ManyviewsWarning")
BRIEF = Search(max_iter=20, n_restarts=1)
QUICK = {"n_inducing": 10, "search": BRIEF, "random_state": 0, "signal_check": "off"}


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    Y = np.tanh(rng.standard_normal((30, 2)) @ rng.standard_normal((2, 4)))
    return BayesianGPLVM(
        3, n_inducing=10, search=Search(tol=1e-3), random_state=0, signal_check="off"
    ).fit(Y)


@pytest.fixture(scope="module")
def images():
    """Two views: images of 8 x 8 pixels and three named columns, one missing for some."""
    import pandas as pd

    rng = np.random.default_rng(0)
    x = rng.standard_normal((30, 2))
    names = [f"s{i}" for i in range(30)]
    pixels = pd.DataFrame(np.tanh(x @ rng.standard_normal((2, 64))), index=names)
    table = pd.DataFrame(x[:, :1] @ rng.standard_normal((1, 3)), names, ["age", "weight", "size"])
    return MRD(3, **QUICK).fit({"image": pixels, "table": table.iloc[5:]})


@pytest.fixture(scope="module")
def series():
    rng = np.random.default_rng(0)
    t = np.linspace(0, 3, 20)
    Y = np.stack([np.sin(t), np.cos(t)], axis=1) @ rng.standard_normal((2, 30))
    return BayesianGPLVM(2, **QUICK).fit(Y, times=t)


def axes():
    return Figure().subplots()


DAYS = np.datetime64("2024-01-01") + np.arange(30)


@pytest.mark.parametrize("labels", [None, ["a", "b"] * 15, np.linspace(0, 1, 30), DAYS])
def test_latent_map_draws_every_point(model, labels):
    ax = axes()
    assert plot.latent_map(model, labels=labels, ax=ax) is ax
    assert sum(len(c.get_offsets()) for c in ax.collections if hasattr(c, "get_sizes")) == 30
    main, second = np.argsort(-model.relevance_)[:2]
    assert str(main) in ax.get_xlabel()
    assert str(second) in ax.get_ylabel()
    assert (ax.get_legend() is not None) == isinstance(labels, list)


def test_dates_are_a_colour_scale_marked_by_dates(model):
    dates = DAYS.copy()
    dates[3] = "NaT"
    ax = axes()
    plot.latent_map(model, labels=dates, ax=ax, background=False, title="day")
    (scale,) = [other for other in ax.figure.axes if other is not ax]
    ax.figure.canvas.draw()
    assert scale.get_ylabel() == "day"
    assert "Jan" in " ".join(t.get_text() for t in scale.get_yticklabels())
    (group,) = sample_groups(dates, 30)
    assert group.style["c"][1] - group.style["c"][0] == 1.0
    assert np.isnan(group.style["c"][3])


def test_latent_map_with_more_classes_than_colours(model):
    ax = plot.latent_map(model, labels=[f"class {i}" for i in range(30)], ax=axes())
    assert len(ax.get_legend().get_texts()) == 30
    many = np.arange(30)
    assert plot.latent_map(model, labels=many, ax=axes()).get_legend() is None


def test_relevance_bars(model):
    ax = plot.relevance_bars(model, ax=axes())
    assert len(ax.patches) == 3
    assert f"{model.n_active_} of 3" in ax.get_title()


def test_pictures_of_several_views(images):
    bars = plot.relevance_bars(images)
    assert {t.get_text() for t in bars.get_legend().get_texts()} == {
        "image", "table", "active above",
    }  # fmt: skip
    assert "relevance" in plot.latent_map(images).get_xlabel()
    heat = plot.relevance_map(images.variance_explained(), label="variance explained")
    assert [t.get_text() for t in heat.get_yticklabels()] == ["image", "table"]


def test_overview_tells_what_is_missing(images):
    ax = plot.data_overview(images, ax=axes())
    image, table = (t.get_text() for t in ax.get_yticklabels())
    assert "64 columns" in image
    assert "missing" not in image
    assert "16.7% missing" in table


def test_the_fit_is_drawn_from_its_record(model, images):
    (line,) = plot.bound_trace(images, ax=axes()).lines
    assert len(line.get_xdata()) == len(images.fit_info_.bound_trace)
    traced = plot.signal_trace(images, ax=axes())
    assert [t.get_text() for t in traced.get_legend().get_texts()] == ["image", "table"]
    assert images.fit_info_.signal_trace.shape == (len(images.fit_info_.bound_trace), 2)
    last = images.fit_info_.signal_trace[np.argmax(images.fit_info_.bound_trace)]
    np.testing.assert_allclose(last, images.fit_info_.signal_to_noise, rtol=1e-6)


def test_top_features_are_sorted_and_in_standard_deviations(images):
    ax = plot.top_features(images, Subject(images).active("table")[0], "table", ax=axes())
    widths = [abs(bar.get_width()) for bar in ax.patches]  # to the left if columns fall
    assert widths == sorted(widths)
    dimension = Subject(images).active("table")[0]
    table = images.training_data()["table"]
    expected = images.sensitivity("table")[dimension] / table.std(ddof=0)
    assert widths[-1] == pytest.approx(expected.max())
    assert len(plot.top_features(images, 0, "image", ax=axes()).images) == 1


@pytest.mark.parametrize(
    ("view", "shape", "drawn"),
    [
        ("image", None, "images"),
        ("image", "4x16", "images"),
        ("image", "curve", "lines"),
        ("table", None, "lines"),
        ("table", "skeleton", "lines"),
    ],
)
def test_traversals_follow_the_shape_of_the_view(images, view, shape, drawn):
    ax = axes()
    assert plot.traversal(images, 0, view, shape, steps=5, ax=ax) is ax
    found = getattr(ax, drawn)
    assert len(found) == (1 if drawn == "images" else 3 if view == "table" and not shape else 5)


def test_unknown_views_and_dimensions_are_named(images):
    with pytest.raises(OptionError, match="no view 'sound'"):
        plot.traversal(images, 0, "sound")
    with pytest.raises(OptionError, match="from 0 to 2"):
        plot.traversal(images, 3, "image")
    with pytest.raises(OptionError, match="is it fitted"):
        plot.data_overview(MRD())


def test_skeletons_stand_upright():
    rng = np.random.default_rng(0)
    bodies = rng.standard_normal((4, 10, 3)) * [0.3, 5.0, 1.0]
    flat = flat_joints(bodies)
    np.testing.assert_allclose(flat[..., 1], bodies[..., 1])
    np.testing.assert_allclose(flat[..., 0], bodies[..., 2] - bodies[..., 2].mean(1)[:, None])


def test_calibration_of_honest_intervals(rng):
    mean, std = rng.standard_normal(20_000), rng.uniform(0.5, 2.0, 20_000)
    truth = mean + std * rng.standard_normal(20_000)
    assert coverage(truth, mean, std, 0.9) == pytest.approx(0.9, abs=0.01)
    ax = plot.calibration(truth, mean, std, ax=axes())
    np.testing.assert_allclose(*ax.lines[-1].get_data(), atol=0.015)
    truth[::2] = np.nan  # not observed: not counted
    assert coverage(truth, mean, std, 0.9) == pytest.approx(0.9, abs=0.015)
    assert len(plot.predicted_against_true(truth, mean, ax=axes()).lines[-1].get_xdata()) <= 4000


def test_animations_can_be_saved(images, series, tmp_path):
    from matplotlib.animation import PillowWriter

    film = plot.animate_traversal(images, 0, "image", steps=3)
    film.save(tmp_path / "walk.gif", writer=PillowWriter(fps=10), dpi=40)
    later = plot.animate_sequence(series, times=[3.1, 3.2])
    later.save(tmp_path / "later.gif", writer=PillowWriter(fps=10), dpi=40)
    assert (tmp_path / "walk.gif").stat().st_size > 500
    with pytest.raises(OptionError, match="without time stamps"):
        plot.animate_sequence(images, view="image")
    with pytest.raises(OptionError, match="no training sequence"):
        plot.animate_sequence(series, sequence="walk")


def test_one_table_explains_itself_like_several(model):
    shares, slopes = model.variance_explained(), model.sensitivity()
    assert list(shares.index) == [0, 1, 2, "total"]
    assert 0.5 < shares["total"] <= 1.0
    assert slopes.shape == (4, 3)
    with pytest.raises(OptionError, match="'lost' or 'alone'"):
        model.variance_explained("twice")
    assert model.training_data().shape == (30, 4)


def test_variance_explained_by_all_dimensions_is_the_total(images):
    total = images.variance_explained()["total"]
    np.testing.assert_allclose(images.variance_explained_by([0, 1, 2]), total)
    alone = images.variance_explained("alone")
    np.testing.assert_allclose(images.variance_explained_by([1]), alone[1])


def test_association_map_marks_what_is_not_chance(images):
    about = {"first": images.latent_mean_[:, 0], "word": ["a", "b", "c"] * 10, "same": [1] * 30}
    ax = plot.association_map(images, about, axes(), active=False)
    table = images.associations(about)
    shown = [text.get_text() for text in ax.texts]
    assert len(shown) == 6  # a variable that does not vary has no number
    assert shown[0] == "1.00*"
    starred = (table["adjusted_p_value"] < 0.05).sum()
    assert sum(text.endswith("*") for text in shown) == starred
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["first", "word", "same"]


def test_the_name_of_the_colour_heads_the_legend(model):
    import pandas as pd

    words = pd.Series(["a", "b", None] * 10, name="batch")
    legend = plot.latent_map(model, words, ax=axes(), background=False).get_legend()
    assert legend.get_title().get_text() == "batch"
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b", "no label"]


def test_bars_point_where_columns_move(model):
    ax = plot.top_features(model, 0, ax=axes())
    signed = model.sensitivity(signed=True)[0] / Subject(model).spread("X")
    sizes = (model.sensitivity()[0] / Subject(model).spread("X")).nlargest(10).iloc[::-1]
    for bar, (column, size) in zip(ax.patches, sizes.items(), strict=True):
        assert abs(bar.get_width()) == pytest.approx(size)
        steady = abs(signed[column]) > 0.5 * size
        assert (bar.get_width() < 0) == (steady and signed[column] < 0)
        assert (bar.get_alpha() == 1.0) == steady


def test_rivals_have_standard_errors(rng):
    errors = {"a": {"mean": rng.random(20), "ridge": rng.random(20)}, "b": {"ridge": [1.0, 3.0]}}
    ax = plot.rival_errors(errors, axes())
    assert [bar.get_height() for bar in ax.patches] == pytest.approx(
        [errors["a"]["mean"].mean(), errors["a"]["ridge"].mean(), 2.0]
    )
    lines = [c for c in ax.collections if hasattr(c, "get_segments")]
    low, high = lines[-1].get_segments()[-1][:, 1]
    assert (high - low) / 2 == pytest.approx(1.0)  # the std of 1 and 3 is √2, over √2
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["mean", "ridge"]


@pytest.mark.parametrize(
    ("target", "shape"),
    [("image", None), ("image", "curve"), ("table", "skeleton"), ("table", None)],
)
def test_candidates_are_drawn_side_by_side(images, target, shape):
    (other,) = {"image", "table"} - {target}
    new = {other: images.training_data()[other].iloc[5:8]}
    found = images.predict_candidates(new, target, 2, n_neighbours=4, n_modes=2)
    ax = plot.candidates(images, found, row=1, shape=shape, ax=axes())
    assert ax.get_title() == f"{target}: candidates"
    shown = [text.get_text() for text in (*ax.texts, *ax.get_xticklabels())]
    if ax.get_legend() is not None:
        shown += [text.get_text() for text in ax.get_legend().get_texts()]
    for weight, source in zip(found.weights[1], found.source[1], strict=True):
        assert any(f"{weight:.0%}" in text and source in text for text in shown)
    if target == "image" and shape is None:
        assert ax.images[0].get_array().shape == (8, 2 * 8 + 1)
    there = plot.candidates(images, found, row=1, view=other, ax=axes())
    assert there.get_title() == f"{other}: the samples they come from"
    with pytest.raises(OptionError, match="row must be from 0 to 2"):
        plot.candidates(images, found, row=3)
