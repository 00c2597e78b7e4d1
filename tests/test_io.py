import json

import equinox as eqx
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

import manyviews
from manyviews import BayesianGPLVM, Search, Stage, io, kernels
from manyviews.errors import FileFormatError, OptionError
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
    import pandas as pd

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
