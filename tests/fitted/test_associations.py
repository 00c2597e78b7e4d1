import numpy as np
import pandas as pd
import pytest
from scipy import stats

from manyviews.errors import DataError, OptionError
from manyviews.fitted.associations import adjusted, aligned_metadata, associations


@pytest.fixture
def known(rng):
    X = rng.standard_normal((60, 2))
    groups = np.array(["a", "b", "c"])[np.digitize(X[:, 1], [-0.5, 0.5])]
    return X, {"age": 3 * X[:, 0] + rng.standard_normal(60), "group": groups}


def test_numbers_and_categories(known):
    X, metadata = known
    found = associations(X, metadata).set_index(["variable", "dimension"])
    r, p = stats.pearsonr(X[:, 0], metadata["age"])
    assert found.loc[("age", 0), "association"] == pytest.approx(r)
    assert found.loc[("age", 0), "p_value"] == pytest.approx(p)
    parts = [X[metadata["group"] == g, 1] for g in "abc"]
    between = sum(len(g) * (g.mean() - X[:, 1].mean()) ** 2 for g in parts)
    eta = np.sqrt(between / np.sum((X[:, 1] - X[:, 1].mean()) ** 2))
    assert found.loc[("group", 1), "association"] == pytest.approx(eta)
    assert found.loc[("group", 1), "p_value"] == pytest.approx(stats.f_oneway(*parts).pvalue)
    assert found.loc[("group", 1), "kind"] == "category"


def test_dates_are_numbers(known):
    X, _ = known
    days = pd.Series(np.datetime64("2024-01-01") + np.arange(60))
    days[5] = pd.NaT
    found = associations(X, {"day": days}).set_index("dimension")
    kept = np.delete(np.arange(60), 5)
    assert found.loc[1, "kind"] == "number"
    assert found.loc[1, "n"] == 59
    assert found.loc[1, "association"] == pytest.approx(stats.pearsonr(X[kept, 1], kept)[0])


def test_adjustment_is_that_of_benjamini_and_hochberg(rng):
    p = rng.uniform(size=20) ** 2
    order = np.argsort(p)
    stepped = np.minimum.accumulate((p[order] * 20 / np.arange(1, 21))[::-1])[::-1]
    expected = np.empty(20)
    expected[order] = np.minimum(stepped, 1.0)
    np.testing.assert_allclose(adjusted(p), expected)
    np.testing.assert_array_equal(np.isnan(adjusted(np.array([0.1, np.nan]))), [False, True])


def test_missing_values_and_variables_that_say_nothing(known):
    X, metadata = known
    age = np.array(metadata["age"])
    age[:10] = np.nan
    names = [f"sample {i}" for i in range(60)]
    found = associations(X, {"age": age, "same": ["x"] * 60, "name": names, "yes": age > 0})
    by = found.set_index(["variable", "dimension"])
    assert by.loc[("age", 0), "n"] == 50
    assert by.loc[("age", 0), "association"] == pytest.approx(
        stats.pearsonr(X[10:, 0], age[10:])[0]
    )
    assert by.loc[["same", "name"], "p_value"].isna().all()
    assert by.loc[("yes", 0), "kind"] == "category"
    assert by.loc[("yes", 0), "association"] > 0.4  # two levels have a sign


def test_ranks_and_wrong_requests(known):
    X, metadata = known
    found = associations(X, {"age": np.exp(metadata["age"])}, "spearman")
    assert found["association"][0] == pytest.approx(stats.spearmanr(X[:, 0], metadata["age"])[0])
    with pytest.raises(OptionError, match="pearson"):
        associations(X, metadata, "kendall")
    with pytest.raises(DataError, match="3 values for 60"):
        associations(X, {"age": [1, 2, 3]})


@pytest.mark.parametrize("kind", [str, "category", "string"])
def test_text_of_any_type_is_a_category(kind, known):
    X, metadata = known
    text = pd.Series(metadata["group"]).astype(kind)
    digits = pd.Series(np.arange(60) % 3).astype(str).astype(kind)
    found = associations(X, {"group": text, "digit": digits})
    assert set(found["kind"]) == {"category"}


def test_metadata_are_aligned_by_name():
    table = pd.DataFrame({"age": [3, 1, 2]}, index=["c", "a", "b"])
    assert list(aligned_metadata(table, ["a", "b", "c"])["age"]) == [1, 2, 3]
    assert list(aligned_metadata(table["age"], ["b"])["age"]) == [2]
