"""The scene and its server; the page itself is in test_explore_page.py."""

import http.client
import importlib
import json
import socket
import sys

import numpy as np
import pandas as pd
import pytest
from explore_models import QUICK, running, small_model, small_views

from manyviews import BayesianGPLVM, MRDClassifier, explore
from manyviews.errors import DataError, ExposedWarning, MissingExtraError, OptionError
from manyviews.explore import server as serving
from manyviews.explore.requests import LARGEST_BODY
from manyviews.explore.scene import GRID, Scene
from manyviews.explore.views import MOST_BARS

pytestmark = pytest.mark.filterwarnings("ignore::manyviews.errors.ConvergenceWarning")


@pytest.fixture(scope="module")
def views():
    return small_views()


@pytest.fixture(scope="module")
def model():
    return small_model()


@pytest.fixture(scope="module")
def scene(model):
    return Scene(model, labels=["a", "b"] * 20)


def split(scene, content):
    """The answer of ``generate`` by view."""
    values, answers, at = np.frombuffer(content, "<f4"), {}, 0
    for view in scene.views:
        n = len(view.picture.columns)
        answers[view.name] = values[at : at + n], values[at + n : at + 2 * n]
        at += 2 * n
    assert at == len(values)
    return answers


# ------------------------------------------------------------------ numbers


@pytest.mark.parametrize("uncertain", [False, True])
@pytest.mark.parametrize("place", ["inside", "edge"])
def test_generated_views_are_those_of_inverse_transform(model, scene, uncertain, place):
    position = model.latent_mean_[7] if place == "inside" else scene.ranges[:, 1]
    blur = np.median(model.latent_std_, axis=0) if uncertain else None
    expected = model.inverse_transform(position[None], latent_std=blur, return_std=True)
    found = split(scene, scene.generate(position, uncertain))
    for view in scene.views:
        columns = list(view.picture.columns)
        mean, std = (part[0, columns] for part in expected[view.name])
        np.testing.assert_allclose(found[view.name][0], mean, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(found[view.name][1], std, rtol=6e-3)


def test_a_single_view_with_another_kernel_and_missing_patterns(views):
    Y = views["body"].copy()
    Y.iloc[:10, :4] = np.nan
    model = BayesianGPLVM(2, kernel="linear + bias", scaling="column", **QUICK).fit(Y)
    scene = Scene(model)
    blur = np.median(model.latent_std_, axis=0)
    position = model.latent_mean_[20]
    mean, std = model.inverse_transform(position[None], latent_std=blur, return_std=True)
    found = split(scene, scene.generate(position, True))["X"]
    np.testing.assert_allclose(found[0], mean[0], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found[1], std[0], rtol=6e-3)
    assert next(group["title"] for group in scene.groups()) == "In use"


def test_background_is_the_std_of_inverse_transform_over_the_plane(model, scene):
    position, axes = model.latent_mean_[3], (2, 0)
    found = np.frombuffer(scene.background(position, axes), np.uint8).reshape(GRID, GRID)
    grid = []
    for up in np.linspace(*scene.ranges[0], GRID):
        for across in np.linspace(*scene.ranges[2], GRID):
            grid.append([up, position[1], across, position[3]])
    stds = [std for _, std in model.inverse_transform(np.array(grid), return_std=True).values()]
    shade = np.log(sum(std.mean(axis=1) / std.mean() for std in stds)).reshape(GRID, GRID)
    expected = 255 * (shade - shade.min()) / np.ptp(shade)
    np.testing.assert_allclose(found, expected, atol=0.51)


# ------------------------------------------------------------------ the scene


def test_the_scene_tells_pictures_groups_and_data(model, scene, views):
    told = json.loads(json.dumps(scene.describe(), allow_nan=False))
    assert told["dimensions"] == scene.dimensions == ["0", "1", "2", "3"]
    kinds = {view["name"]: view["kind"] for view in told["views"]}
    assert kinds == {"picture": "image", "body": "skeleton", "blood": "bars", "spectrum": "curve"}
    assert told["views"][1]["bones"]
    assert told["views"][0]["low"] == pytest.approx(views["picture"].to_numpy().min(), abs=1e-5)
    listed = [q for group in told["groups"] for q in group["dimensions"]]
    assert sorted(listed) == list(range(4))
    by_title = {group["title"]: group["dimensions"] for group in told["groups"]}
    assert sorted(by_title.get("Shared by all views", [])) == model.shared()
    for name in views:
        assert sorted(by_title.get(f"Private to {name}", [])) == model.private(name)
    assert told["samples"][3] == "s3"
    assert told["labels"]["names"] == ["a", "b"]
    data = np.frombuffer(scene.sample(3), "<f4")
    np.testing.assert_allclose(data[:64], views["picture"].iloc[3], rtol=1e-5)
    assert np.isnan(data[64 + 9 : 64 + 9 + 4]).all()
    points = np.frombuffer(scene.points(), "<f4").reshape(2, 40, 4)
    np.testing.assert_allclose(points[0], model.latent_mean_, rtol=1e-5, atol=1e-6)
    inside = (scene.ranges[:, 0] < model.latent_mean_) & (model.latent_mean_ < scene.ranges[:, 1])
    assert inside.all()


def test_labels_are_classes_or_numbers_and_follow_the_samples(model):
    samples = list(model.samples_)
    told = Scene(model, labels=pd.Series(range(40), index=samples[::-1])).labels.describe()
    assert told["names"][:3] == ["0", "1", "2"]
    assert told["codes"][:2] == [39, 38]
    numbers = np.linspace(0, 1, 40)
    numbers[5] = np.nan
    told = Scene(model, labels=numbers).labels.describe()
    assert told["scale"] == (0.0, 1.0)
    assert told["codes"][0] == 0
    assert told["codes"][-1] == 63
    assert told["codes"][5] == 64
    assert told["title"] == ""
    named = pd.Series(["x"] * 40, name="kind <i>")
    assert Scene(model, labels=named).labels.describe()["title"] == "kind <i>"
    numbers[6] = np.inf
    told = Scene(model, labels=numbers).labels.describe()
    assert told["scale"] == (0.0, 1.0)
    assert told["codes"][5:7] == [64, 64]
    days = pd.Series(np.datetime64("2024-01-01") + np.arange(40), index=samples, name="day")
    days.iloc[3] = pd.NaT
    told = Scene(model, labels=days).labels.describe()
    assert told["scale"] == ("2024-01-01", "2024-02-09")
    assert (told["codes"][0], told["codes"][3], told["codes"][-1]) == (0, 64, 63)
    assert told["texts"][1] == "2024-01-02"
    some = Scene(model, labels=["x", None] * 20).labels.describe()
    assert some["names"] == ["x", "no label"]
    with pytest.raises(DataError, match="40 samples but labels of shape"):
        Scene(model, labels=[1, 2, 3])
    with pytest.raises(DataError, match="lack the sample 's39'"):
        Scene(model, labels=pd.Series(range(39), index=samples[:39]))


def test_json_holds_only_what_json_can_say():
    content = {"a\x1b": [np.inf, float("nan"), 1.5, "\ud800"], "b": (None, True, 3)}
    said = serving.sayable(content)
    assert said == {"a\ufffd": [None, None, 1.5, "\ufffd"], "b": [None, True, 3]}
    json.dumps(said, allow_nan=False).encode()


def test_shapes_are_checked_by_view(model):
    with pytest.raises(OptionError, match="no view 'face'"):
        Scene(model, {"face": "8x8"})
    with pytest.raises(OptionError, match="view 'picture': an image of 9x9 has 81"):
        Scene(model, {"picture": "9x9"})
    assert Scene(model, {"picture": "4x16:F"}).views[0].picture.shape == (4, 16)
    with pytest.raises(OptionError, match="no latent space"):
        Scene(np.zeros(3))


def test_of_many_named_columns_those_that_the_model_moves_most_are_shown(rng):
    Y = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 50))
    Y[:, 8] = rng.standard_normal(30)  # varies, but with nothing else
    table = pd.DataFrame(Y, columns=[f"gene {i}" for i in range(50)])
    model = BayesianGPLVM(2, scaling="column", **QUICK).fit(table)
    view = Scene(model).views[0]
    fitted = model.inverse_transform(model.latent_mean_, model.latent_std_)
    expected = np.argsort(-fitted.var(axis=0) / Y.var(axis=0))[:MOST_BARS]
    assert view.picture.names == tuple(f"gene {i}" for i in expected)
    assert "gene 8" not in view.picture.names
    np.testing.assert_allclose(view.data, Y[:, expected], rtol=1e-5, atol=1e-6)


@pytest.mark.long
def test_times_give_paths_and_classifiers_show_their_model(rng, model):
    times = np.tile(np.arange(10.0)[::-1], 2)
    Y = np.sin(times[:, None] / 3 + rng.standard_normal(5)) + 0.01 * rng.standard_normal((20, 5))
    timed = BayesianGPLVM(2, **QUICK).fit(Y, times=times, sequences=["walk"] * 10 + ["run"] * 10)
    scene = Scene(timed)
    path = scene.describe()["paths"][0]
    assert path["name"] == "walk"
    assert path["samples"] == list(range(10))[::-1]
    assert path["times"] == sorted(path["times"])
    assert scene.labels.names == ["run", "walk"]
    classifier = MRDClassifier()
    classifier.model_ = model
    assert [view.name for view in Scene(classifier).views] == list(model.view_names_)


# ------------------------------------------------------------------ the server


@pytest.fixture(scope="module")
def address(model):
    with running(explore.app(model, labels=np.linspace(0.0, 1.0, 40))) as found:
        yield found


def ask(address, path, body=None, headers=None, method=None):
    connection = http.client.HTTPConnection(*address, timeout=20)
    headers = {"content-type": "application/json"} | (headers or {})
    content = json.dumps(body) if isinstance(body, dict | list) else body
    connection.request(method or ("GET" if body is None else "POST"), path, content, headers)
    answer = connection.getresponse()
    return answer.status, answer.read(), {k.lower(): v for k, v in answer.getheaders()}


def test_every_answer_carries_the_policy_and_nothing_points_elsewhere(address):
    status, page, headers = ask(address, "/")
    assert status == 200
    assert headers["content-type"].startswith("text/html")
    assets = sorted(path.name for path in serving.STATIC.iterdir())
    assert {"index.html", "main.js", "style.css"} <= set(assets)
    for name in assets:
        status, content, headers = ask(address, f"/static/{name}")
        assert status == 200
        text = content.decode().replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text
        assert "https:" not in text
        assert "'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
    assert b"<script>" not in page
    assert b"style=" not in page


def test_the_routes_answer(address, model):
    told = json.loads(ask(address, "/model")[1])
    assert told["labels"]["scale"] == [0.0, 1.0]
    position = told["ranges"][0][:1] + [low / 2 + high / 2 for low, high in told["ranges"][1:]]
    status, content, _ = ask(address, "/generate", {"position": position, "uncertain": True})
    assert status == 200
    assert len(content) == 4 * 2 * (64 + 9 + 4 + 30)
    assert np.isfinite(np.frombuffer(content, "<f4")).all()
    status, content, _ = ask(address, "/background", {"position": position, "axes": [1, 3]})
    assert (status, len(content)) == (200, GRID * GRID)
    assert len(ask(address, "/points")[1]) == 4 * 2 * 40 * 4
    assert ask(address, "/samples/39")[0] == 200


@pytest.mark.parametrize(
    ("path", "body", "why"),
    [
        ("/generate", {"position": [0.0, 0.0, 0.0]}, "list of 4 numbers"),
        ("/generate", {"position": "0000"}, "list of 4 numbers"),
        ("/generate", {}, "list of 4 numbers"),
        ("/generate", {"position": [0.0, 0.0, 0.0, 1e6]}, "dimension 3 must be from"),
        ("/generate", {"position": [0.0, None, 0.0, 0.0]}, "dimension 1"),
        ("/generate", {"position": [True, 0.0, 0.0, 0.0]}, "dimension 0"),
        ("/generate", {"position": ["0", 0.0, 0.0, 0.0]}, "dimension 0"),
        ("/generate", '{"position": [NaN, 0, 0, 0]}', "NaN is no number"),
        ("/generate", '{"position": [-Infinity, 0, 0, 0]}', "Infinity is no number"),
        ("/generate", '{"position": [1e999, 0, 0, 0]}', "dimension 0"),
        ("/generate", '{"position": [' + "9" * 400 + ", 0, 0, 0]}", "dimension 0"),
        ("/generate", '{"position": [' + "9" * 5000 + ", 0, 0, 0]}", "not valid JSON"),
        ("/generate", {"position": [0, 0, 0, 0], "uncertain": 1}, "true or false"),
        ("/generate", [0, 0, 0, 0], "not a JSON object"),
        ("/generate", "{", "not valid JSON"),
        ("/generate", b"\xff\xfe", "not valid JSON"),
        ("/generate", "[" * 60000, "not valid JSON"),
        ("/generate", " " * (LARGEST_BODY + 1), "larger than"),
        ("/background", {"position": [0, 0, 0, 0], "axes": [0, 4]}, "from 0 to 3"),
        ("/background", {"position": [0, 0, 0, 0], "axes": [0, 1.0]}, "from 0 to 3"),
        ("/background", {"position": [0, 0, 0, 0], "axes": [0]}, "two dimensions"),
        ("/background", {"position": [0, 0, 0, 0]}, "two dimensions"),
    ],
)
def test_requests_that_do_not_fit_are_refused(address, path, body, why):
    status, content, headers = ask(address, path, body)
    assert status == 400
    assert why in json.loads(content)["error"]
    assert "content-security-policy" in headers


def test_other_sites_other_types_and_other_files_are_refused(address):
    body = {"position": [0, 0, 0, 0]}
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        assert ask(address, "/generate", body, {"content-type": kind})[0] == 400
    for host in ("evil.example", f"evil.example:{address[1]}", "127.0.0.1.evil.example", ""):
        assert ask(address, "/", headers={"host": host})[0] == 400
    for host in ("localhost", f"localhost:{address[1]}", f"[::1]:{address[1]}", "127.0.0.1"):
        assert ask(address, "/", headers={"host": host})[0] == 200
    for path in ("/static/../server.py", "/static/%2e%2e/server.py", "/static/..%2fserver.py",
                 "/static//etc/passwd", "/static/", "/server.py", "/samples/1.5",
                 "/samples/-1"):  # fmt: skip
        assert ask(address, path)[0] == 404
    assert ask(address, "/samples/40")[0] == 400
    assert ask(address, "/generate")[0] == 405
    assert ask(address, "/model", method="DELETE")[0] == 405


# ------------------------------------------------------------------ starting it


@pytest.fixture
def started(monkeypatch):
    """What ``serve`` would have done."""
    seen = {"opened": []}

    class Nothing:
        def run(self, sockets):
            seen["port"] = sockets[0].getsockname()[1]
            raise KeyboardInterrupt  # how uvicorn ends after Ctrl-C

    monkeypatch.setattr(serving, "server", lambda application: Nothing())
    monkeypatch.setattr(serving.webbrowser, "open", seen["opened"].append)
    return seen


def test_serving_opens_the_browser_at_a_free_port(model, started, capsys):
    explore.serve(model)
    assert started["opened"] == [f"http://127.0.0.1:{started['port']}/"]
    assert started["opened"][0] in capsys.readouterr().out
    explore.serve(model, open_browser=False)
    assert len(started["opened"]) == 1


def test_serving_to_others_warns(model, started):
    with pytest.warns(ExposedWarning, match="everyone"):
        explore.serve(model, host="0.0.0.0", open_browser=False)
    assert socket.gethostname() in serving.allowed_hosts("0.0.0.0")
    assert "10.0.0.5" in serving.allowed_hosts("10.0.0.5")
    assert "*" not in serving.allowed_hosts("0.0.0.0")
    assert serving.allowed_hosts("::1") == list(serving.LOOPBACK)


def test_an_address_that_cannot_be_had(model):
    with (
        serving.listen("127.0.0.1", 0) as taken,
        pytest.raises(OptionError, match="port 0 takes a free one"),
    ):
        explore.serve(model, port=taken.getsockname()[1])
    with pytest.raises(OptionError, match="from 0 to 65535"):
        explore.serve(model, port=70000)
    with pytest.raises(OptionError, match="cannot listen"):
        explore.serve(model, host="no such host")


def test_the_command_reads_a_file(model, tmp_path, monkeypatch):
    import pandas as pd

    from manyviews import explore
    from manyviews.cli import main

    seen = []
    monkeypatch.setattr(explore, "serve", lambda *given: seen.append(given))
    model.save(tmp_path / "model.safetensors")
    classes = pd.DataFrame({"kind": ["a", "b"] * (len(model.latent_mean_) // 2)})
    classes.to_csv(tmp_path / "about.csv", index=False)
    view = model.view_names_[0]
    options = ["--no-browser", "--port", "8123", "--shape", f"{view}=curve"]
    labels = ["--labels", f"{tmp_path / 'about.csv'}:kind"]
    assert main(["explore", str(tmp_path), *options, *labels]) == 0
    ((found, host, port, browser, shapes, colours),) = seen
    np.testing.assert_array_equal(found.latent_mean_, model.latent_mean_)
    assert (host, port, browser, shapes) == ("127.0.0.1", 8123, False, {view: "curve"})
    assert colours.tolist()[:2] == ["a", "b"]


def test_the_command_knows_what_a_run_was_told(model, tmp_path, monkeypatch):
    from manyviews import explore
    from manyviews.cli import main
    from manyviews.cli.run_folder import RunFolder
    from manyviews.cli.settings import RunOptions

    seen = []
    monkeypatch.setattr(explore, "serve", lambda *given: seen.append(given))
    folder = RunFolder(tmp_path / "run")
    folder.create(overwrite=False)
    first, second = model.view_names_[:2]
    RunOptions(shapes={first: "8x8", second: "curve"}).write(folder.options)
    model.save(folder.model)
    labels = pd.DataFrame({"kind": ["a", "b"] * 20}, index=model.samples_)
    folder.write_tables(model, labels=labels)
    assert main(["explore", str(folder.path), "--shape", f"{second}=skeleton"]) == 0
    shapes, colours = seen[0][4:]
    assert shapes == {first: "8x8", second: "skeleton"}
    assert colours.name == "kind"
    assert colours.to_dict() == labels["kind"].to_dict()


@pytest.mark.parametrize("name", ["GroupFactorAnalysis", "CCA", "PPCA"])
def test_linear_models_are_explored_alike(name):
    from manyviews import linear

    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 2))
    views = {k: x @ rng.standard_normal((2, 4)) + 0.1 * rng.standard_normal((40, 4)) for k in "ab"}
    model = getattr(linear, name)(2).fit(views if name != "PPCA" else views["a"])
    scene = Scene(model)
    found = np.frombuffer(scene.generate(model.latent_mean_[0], False), "<f4")
    expected = model.inverse_transform(model.latent_mean_[:1])
    first = expected["a"] if isinstance(expected, dict) else expected
    np.testing.assert_allclose(found[:4], first[0], rtol=1e-5)
    assert len(scene.background(model.latent_mean_[0], (0, 1))) == 1600


@pytest.mark.parametrize("package", ["starlette", "uvicorn"])
def test_without_the_extra_the_error_says_what_to_install(monkeypatch, package):
    for name in [name for name in sys.modules if name.startswith("manyviews.explore")]:
        monkeypatch.delitem(sys.modules, name)
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'manyviews\[explore\]'"):
        importlib.import_module("manyviews.explore")
