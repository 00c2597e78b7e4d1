import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss

import manyviews
from manyviews import MRD, MRDClassifier, Search, Views
from manyviews.errors import DataError, OptionError

pytestmark = pytest.mark.filterwarnings("ignore::manyviews.errors.ManyviewsWarning")


def blobs(n=90, seed=0):
    """Three classes: the first view tells one of them apart, the second the other two."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    left = np.where(y == 0, 2.0, -1.0)[:, None] * np.ones(3) + 0.4 * rng.standard_normal((n, 3))
    right = np.where(y == 1, 2.0, -1.0)[:, None] * np.ones(4) + 0.4 * rng.standard_normal((n, 4))
    return {"left": left, "right": right}, np.array(["ada", "bob", "cyd"])[y]


def small(**options):
    return MRDClassifier(
        MRD(3, n_inducing=15, search=Search(max_iter=60), random_state=0, signal_check="off"),
        **options,
    )


@pytest.fixture(scope="module")
def fitted():
    views, y = blobs()
    train = {name: view[:60] for name, view in views.items()}
    return small().fit(train, y[:60]), {name: view[60:] for name, view in views.items()}, y[60:]


def test_classes_from_two_views(fitted):
    model, new, truth = fitted
    assert list(model.classes_) == ["ada", "bob", "cyd"]
    chances = model.predict_proba(new)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert (model.predict(new) == truth).mean() > 0.95
    assert log_loss(truth, chances, labels=model.classes_) < 0.3
    assert model.score(new, truth) > 0.95
    assert set(model.model_.view_names_) == {"left", "right", "labels"}


def test_no_probability_exceeds_the_rule_of_succession(fitted):
    model, new, _ = fitted
    for known in (new, {"left": new["left"]}):
        assert model.predict_proba(known).max() <= 1 - 1 / (60 + 2) + 1e-9


@pytest.mark.long
def test_categorical_labels(tmp_path):
    views, y = blobs()
    known = y.astype(object)
    known[60:] = None
    model = small(labels="categorical").fit(views, known)
    new = {name: view[60:] for name, view in views.items()}
    chances = model.predict_proba(new)
    assert chances.shape == (30, 3)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert (model.predict(new) == y[60:]).mean() > 0.9
    assert model.label_noise_ == 0.0
    model.save(tmp_path / "classifier.safetensors")
    again = manyviews.load(tmp_path / "classifier.safetensors")
    np.testing.assert_allclose(again.predict_proba(new), chances, rtol=1e-6)


@pytest.mark.long
def test_several_labels_that_are_yes_or_no():
    views, names = blobs()
    labels = pd.DataFrame({"is_ada": names == "ada", "is_bob": names == "bob"}).astype(int)
    train = {name: view[:60] for name, view in views.items()}
    model = small(labels="categorical").fit(train, labels[:60])
    new = {name: view[60:] for name, view in views.items()}
    assert (model.predict(new) == labels[60:].to_numpy()).mean() > 0.9


def test_options_of_labels_are_checked():
    views, names = blobs()
    with pytest.raises(OptionError, match="labels must be"):
        small(labels="gaussian").fit(views, names)
    with pytest.raises(OptionError, match="calibration_folds are for labels='codes'"):
        small(labels="categorical", calibration_folds=3).fit(views, names)


@pytest.mark.long
def test_folds_find_a_noise_of_good_log_loss(fitted):
    model, new, truth = fitted
    views, y = blobs()
    train = {name: view[:60] for name, view in views.items()}
    folds = small(calibration_folds=3).fit(train, y[:60])
    assert folds.label_noise_ > 0
    chances = folds.predict_proba(new)
    assert log_loss(truth, chances, labels=model.classes_) < 0.3
    np.testing.assert_array_equal(folds.predict(new), model.predict(new))


@pytest.mark.long
def test_several_labels_per_sample():
    views, names = blobs()
    labels = pd.DataFrame({"is_ada": names == "ada", "is_bob": names == "bob"}).astype(int)
    train = {name: view[:60] for name, view in views.items()}
    model = small().fit(train, labels[:60])
    new = {name: view[60:] for name, view in views.items()}
    assert list(model.classes_) == ["is_ada", "is_bob"]
    assert (model.predict(new) == labels[60:].to_numpy()).mean() > 0.95


@pytest.mark.long
def test_unlabelled_samples_help_with_the_features():
    views, names = blobs()
    partly = np.where(np.arange(90) % 3 == 0, names, names).astype(object)
    partly[30:] = None
    model = small().fit(views, partly)
    assert (model.predict(views) == names).mean() > 0.9


def test_a_single_table_and_a_file(tmp_path):
    views, names = blobs()
    X = np.concatenate(list(views.values()), axis=1)
    X[::7, 1] = np.nan
    model = small().fit(X, names)
    assert model.n_features_in_ == 7
    path = tmp_path / "classifier.safetensors"
    model.save(path)
    again = manyviews.load(path)
    np.testing.assert_array_equal(again.predict(X[:5]), model.predict(X[:5]))
    np.testing.assert_allclose(again.predict_proba(X[:5]), model.predict_proba(X[:5]))


def test_bad_labels_are_named():
    views, names = blobs()
    with pytest.raises(DataError, match="1 class"):
        small().fit(views, np.zeros(90))
    with pytest.raises(DataError, match="90 samples but 80 labels"):
        small().fit(views, names[:80])
    with pytest.raises(DataError, match="may be called 'labels'"):
        small().fit({**views, "labels": views["left"]}, names)
    with pytest.raises(OptionError, match="private"):
        small(private="guess").fit(views, names)
    with pytest.raises(ValueError, match="Unknown label type"):
        small().fit(views, np.linspace(0, 1, 90))


def noisy_states(seed=0):
    """Four sequences of a slow wave; its sign is the class."""
    rng = np.random.default_rng(seed)
    times, sequence = np.tile(np.arange(20.0), 4), np.repeat(["p", "q", "r", "s"], 20)
    wave = np.sin(2 * np.pi * times / 16 + np.repeat([0.0, 1.6, 3.1, 4.7], 20))
    views = {
        "left": wave[:, None] * np.ones(2) + 1.3 * rng.standard_normal((80, 2)),
        "right": wave[:, None] * np.ones(2) + 1.3 * rng.standard_normal((80, 2)),
    }
    return views, np.where(wave > 0, "up", "down"), times, sequence


@pytest.fixture(scope="module")
def timed():
    views, y, times, sequence = noisy_states()
    return small().fit(
        {name: view[:60] for name, view in views.items()},
        y[:60],
        times=times[:60],
        sequences=sequence[:60],
    )


@pytest.mark.long
def test_classes_of_a_new_sequence(timed):
    views, y, times, sequence = noisy_states()
    new = {name: view[60:] for name, view in views.items()}
    when = {"times": times[60:], "sequences": sequence[60:]}
    joint = timed.predict(new, **when)
    assert timed.score(new, y[60:], **when) == (joint == y[60:]).mean() >= 0.9
    assert np.abs(timed.predict_proba(new, **when) - timed.predict_proba(new)).max() > 0.01
    carried = Views(new, **when)
    np.testing.assert_array_equal(timed.predict_proba(carried), timed.predict_proba(new, **when))
    assert timed.score(carried, y[60:]) == timed.score(new, y[60:], **when)


@pytest.mark.long
def test_calibration_leaves_whole_sequences_out():
    views, y, times, sequence = noisy_states()
    model = small(calibration_folds=2).fit(views, y, times=times, sequences=sequence)
    alone = {name: view[:20] for name, view in views.items()}
    single = small(calibration_folds=2).fit(alone, y[:20], times=times[:20])
    assert min(model.label_noise_, single.label_noise_) > 0


def test_labels_of_named_samples_are_matched_by_name(fitted):
    model, new, _ = fitted
    views, y = blobs()
    names = [f"s{i}" for i in range(60)]
    frames = {name: pd.DataFrame(view[:60], names) for name, view in views.items()}
    shuffled = pd.Series(y[:60], names).sample(frac=1.0, random_state=0)
    again = small().fit(frames, shuffled)
    np.testing.assert_allclose(again.predict_proba(new), model.predict_proba(new), atol=1e-8)
