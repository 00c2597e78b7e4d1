import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss

import manyviews
from manyviews import MRD, MRDClassifier, Search
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
def test_folds_find_a_noise_of_good_log_loss(fitted):
    model, new, truth = fitted
    views, y = blobs()
    train = {name: view[:60] for name, view in views.items()}
    folds = small(calibration_folds=3).fit(train, y[:60])
    assert folds.label_noise_ > 0
    chances = folds.predict_proba(new)
    assert log_loss(truth, chances, labels=model.classes_) < 0.3
    np.testing.assert_array_equal(folds.predict(new), model.predict(new))


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
