import json
from datetime import date, datetime

import equinox as eqx
import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

import manyviews
from manyviews import BayesianGPLVM, Search, Stage, io, kernels
from manyviews.errors import FileFormatError, FileWriteError, OptionError
from manyviews.storage import digest

pytestmark = pytest.mark.filterwarnings("ignore::manyviews.errors.ConvergenceWarning")


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    Y = np.tanh(rng.standard_normal((25, 2)) @ rng.standard_normal((2, 4)))
    Y[3, 1] = np.nan
    kernel = kernels.RBF(1.0, 0.8).fix("variance") + kernels.Bias(0.1)
    stages = [Stage("lbfgs", 40)]
    return BayesianGPLVM(
        2, n_inducing=10, kernel=kernel, search=Search(stages=stages), random_state=0
    ).fit(Y), Y


def rewrite(path, change):
    with safe_open(path, framework="numpy") as file:
        header = dict(file.metadata())
        tensors = {k: file.get_tensor(k) for k in file.keys()}  # noqa: SIM118
    change(header, tensors)
    save_file(tensors, path, header)


def test_a_loaded_model_does_all_the_saved_one_does(fitted, tmp_path):
    model, Y = fitted
    path = tmp_path / "model.safetensors"
    model.save(path)
    loaded = manyviews.load(path)
    assert repr(loaded) == repr(model)
    np.testing.assert_array_equal(loaded.transform(Y), model.transform(Y))
    np.testing.assert_array_equal(loaded.impute(), model.impute())
    np.testing.assert_array_equal(loaded.score_samples(Y), model.score_samples(Y))
    np.testing.assert_array_equal(loaded.sample(3), model.sample(3))
    assert loaded.lower_bound_ == model.lower_bound_
    assert loaded.fit_info_.restart_bounds == model.fit_info_.restart_bounds
    assert loaded.kernel_.parts[0].variance.free is False
    loaded.fit(np.nan_to_num(Y))


def test_data_frames_keep_their_names(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        rng.standard_normal((20, 2)) @ rng.standard_normal((2, 3)), columns=list("abc")
    )
    model = BayesianGPLVM(1, search=Search(max_iter=10), signal_check="off", random_state=0).fit(
        frame
    )
    model.save(tmp_path / "m.safetensors")
    loaded = manyviews.load(tmp_path / "m.safetensors")
    with pytest.raises(ValueError, match="order"):
        loaded.transform(frame[["b", "a", "c"]])


def test_defective_files_are_named_errors(fitted, tmp_path):
    model, _ = fitted
    path = tmp_path / "model.safetensors"

    def attempt(words):
        with pytest.raises(FileFormatError, match=words):
            manyviews.load(path)

    with pytest.raises(FileNotFoundError):
        manyviews.load(path)
    path.write_text("not a model")
    attempt("truncated or not a safetensors file")
    model.save(path)
    whole = path.read_bytes()
    for length in (0, 4, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        attempt("truncated")
    flipped = bytearray(whole)
    flipped[-20] ^= 1
    path.write_bytes(flipped)
    attempt("altered")
    save_file({"x": np.zeros(3)}, path)
    attempt("not a manyviews model")

    def forget_tensor(header, tensors):
        del tensors["model.engine_.data.0"]

    path.write_bytes(whole)
    rewrite(path, forget_tensor)
    attempt("altered")


def test_a_file_cannot_name_a_class_that_is_not_registered(fitted, tmp_path):
    model, _ = fitted
    path = tmp_path / "model.safetensors"
    model.save(path)

    def forge(header, tensors):
        tree = json.loads(header["content"])
        tree["record"] = "Popen"
        header["content"] = json.dumps(tree)
        header["sha256"] = digest(header, tensors)

    rewrite(path, forge)
    with pytest.raises(FileFormatError, match="Popen"):
        manyviews.load(path)


def test_unknown_records_cannot_be_saved(tmp_path):
    class Strange(eqx.Module):
        x: int

    with pytest.raises(OptionError, match="Strange"):
        io.write(tmp_path / "x.safetensors", Strange(1))
    io.write(tmp_path / "y.safetensors", {"a": 1})
    with pytest.raises(FileFormatError, match="not a model"):
        manyviews.load(tmp_path / "y.safetensors")


@pytest.mark.parametrize("dtype", [">f8", "<f8", ">f4", ">i4", "u1", "bool"])
def test_arrays_of_every_order_and_width_come_back(dtype, tmp_path):
    content = {"a": np.arange(6).reshape(2, 3).astype(dtype)}
    io.write(tmp_path / "record.safetensors", content)
    np.testing.assert_array_equal(io.read(tmp_path / "record.safetensors")["a"], content["a"])


def forged(path, change):
    """A file whose content was changed, and its checksum with it."""

    def forge(header, tensors):
        tree = json.loads(header["content"])
        header["content"] = json.dumps(change(tree, header, tensors) or tree)
        header["sha256"] = digest(header, tensors)

    rewrite(path, forge)


def _field(tree, *path):
    for name in path[:-1]:
        tree = tree["fields"][name]
    return tree["fields"], path[-1]


def _replaced(value, *path):
    def change(tree, header, tensors):
        fields, name = _field(tree, *path)
        assert name in fields
        fields[name] = value

    return change


def _tensor(name, change):
    def changed(tree, header, tensors):
        tensors[name] = change(tensors[name])

    return changed


def _added(name):
    def change(tree, header, tensors):
        tree["fields"][name] = 3

    return change


def _poisoned(table):
    table = table.copy()
    table.ravel()[0] = np.nan
    return table


FORGERIES = {
    "a date": _replaced({"time": "not a date"}, "samples_"),
    "many long texts": _replaced({"words": ["x" * 100_000] + ["x"] * 100_000}, "samples_"),
    "texts that are none": _replaced({"words": [1, [2]]}, "samples_"),
    "an option of another type": _replaced({"list": []}, "search"),
    "a record in the wrong place": _replaced(None, "engine_"),
    "an unfitted attribute": _added("transform"),
    "a property": _added("latent_mean_"),
    "a hidden attribute": _added("__class__"),
    "a tensor of another shape": _tensor("model.scaling_.scale", lambda t: t[:2]),
    "a tensor of another kind": _tensor("model.scaling_.scale", lambda t: t.astype(int)),
    "NaN": _tensor("model.scaling_.scale", _poisoned),
    "a negative scale": _tensor("model.scaling_.scale", lambda t: -t),
    "rows that are not there": _tensor("model.engine_.data.0", lambda t: t[:5]),
    "a node of no kind": _replaced({"code": "import os"}, "samples_"),
    "a number for a tensor": _replaced({"tensor": 3, "kind": "numpy"}, "samples_"),
    "an unknown dtype": _replaced({"tensor": "model.scaling_.scale", "kind": "O"}, "samples_"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_content_is_refused_by_name(name, fitted, tmp_path):
    path = tmp_path / "model.safetensors"
    fitted[0].save(path)
    forged(path, FORGERIES[name])
    with pytest.raises(FileFormatError):
        manyviews.load(path)


def test_content_without_end_is_refused(fitted, tmp_path):
    path = tmp_path / "model.safetensors"
    fitted[0].save(path)

    def forge(header, tensors):
        header["content"] = '{"list": [' * 20_000 + "]}" * 20_000
        header["sha256"] = digest(header, tensors)

    rewrite(path, forge)
    with pytest.raises(FileFormatError, match="complete model"):
        manyviews.load(path)


def test_the_version_is_part_of_the_checksum(fitted, tmp_path):
    path = tmp_path / "model.safetensors"
    fitted[0].save(path)
    rewrite(path, lambda header, tensors: header.update(manyviews="9.9"))
    with pytest.raises(FileFormatError, match="altered"):
        manyviews.load(path)


def test_dates_and_mixed_labels_come_back(tmp_path):
    content = {
        "dates": np.array(["2020-01-01", "NaT"], "datetime64[ns]"),
        "spans": np.array([1, 2], ">m8[s]"),
        "mixed": np.array(["a", 1, None, pd.Timestamp("2020-01-01", tz="UTC")], dtype=object),
        "list": [date(2020, 1, 1), datetime(2020, 1, 1, 3), pd.Timedelta("1h")],
        "scalar": np.datetime64("2020-01-01", "D"),
        "empty": np.zeros(0, dtype="<U1"),
    }
    io.write(tmp_path / "record.safetensors", content)
    found = io.read(tmp_path / "record.safetensors")
    np.testing.assert_array_equal(found["dates"], content["dates"])
    np.testing.assert_array_equal(found["spans"], content["spans"])
    assert found["spans"].dtype == "<m8[s]"
    assert found["mixed"].tolist() == content["mixed"].tolist()
    assert found["list"] == content["list"]
    assert found["scalar"] == content["scalar"]
    assert found["empty"].shape == (0,)
    with pytest.raises(OptionError, match="complex128"):
        io.write(tmp_path / "record.safetensors", {"x": np.zeros(2, complex)})


def test_a_class_of_the_same_name_needs_another_one():
    def make():
        class BayesianGPLVM(eqx.Module):
            x: int

        return BayesianGPLVM

    with pytest.raises(OptionError, match=r"name='my.BayesianGPLVM'"):
        io.register_record(make())
    assert io.RECORDS["BayesianGPLVM"] is BayesianGPLVM
    io.register_record(BayesianGPLVM)  # the same again, as in a notebook


def test_a_file_that_cannot_be_written_says_where_and_why(fitted, tmp_path):
    with pytest.raises(FileWriteError, match="create it first"):
        fitted[0].save(tmp_path / "none" / "model.safetensors")


@pytest.mark.parametrize("node", [[1], {"list": [], "x": 1}, {"tuple": "ab"}, {"list": {}}, {}])
def test_parts_that_no_model_writes_are_refused(node, fitted, tmp_path):
    model, _ = fitted
    path = tmp_path / "model.safetensors"
    model.save(path)

    def change(header, tensors):
        tree = json.loads(header["content"])
        tree["fields"]["samples_"] = node
        header["content"] = json.dumps(tree)
        header["sha256"] = digest(header, tensors)

    rewrite(path, change)
    with pytest.raises(FileFormatError, match="the file holds a"):
        manyviews.load(path)
