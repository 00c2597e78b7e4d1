"""The two set-ups of AVletters [MRD21, §5.5]: views, rows, tests, and the baselines."""

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.decomposition import PCA
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import RidgeCV

from manyviews.linear import GroupFactorAnalysis

from .table import Row

FRAME = (12, 16)
Tables = dict[str, np.ndarray]


@dataclass(frozen=True)
class Problem:
    """Views of training and test rows, and which training rows to choose by."""

    train: Tables
    test: Tables
    inner: np.ndarray
    target: str
    given: dict[str, list[str]]
    """Measure -> the views that are known."""

    def error(self, guess: np.ndarray, truth: Tables) -> float:
        """Root mean squared error over all pixels, in standard deviations of the training video."""
        rms = np.sqrt(np.mean((guess - truth[self.target]) ** 2))
        return float(rms / self.train[self.target].std())

    def inputs(self, measure: str) -> tuple[np.ndarray, np.ndarray]:
        """What is known of training and test rows, every view with a total variance of one."""
        train, test = [], []
        for name in self.given[measure]:
            table = self.train[name]
            mean, scale = table.mean(axis=0), np.sqrt(table.var(axis=0).sum())
            train.append((table - mean) / scale)
            test.append((self.test[name] - mean) / scale)
        return np.concatenate(train, axis=1), np.concatenate(test, axis=1)


def sixteen_views(data: Tables, n_speakers: int) -> Problem:
    """A row per letter and trial; the third speaker's video is wanted."""
    names = list(dict.fromkeys(data["speaker"].tolist()))[:n_speakers]
    order = np.lexsort((data["trial"], data["letter"]))
    views, letters = {}, data["letter"][order][data["speaker"][order] == names[0]]
    for k, name in enumerate(names, start=1):
        mine = order[data["speaker"][order] == name]
        views |= {f"video {k}": video(data)[mine], f"audio {k}": audio(data)[mine]}
    test = np.isin(letters, list("BMT"))
    given = [v for v in views if v.startswith("video") and v != "video 3"] + ["audio 3"]
    held = np.random.default_rng(0).choice(np.unique(letters[~test]), 4, replace=False)
    return Problem(
        rows_of(views, ~test), rows_of(views, test), np.isin(letters[~test], held),
        "video 3", {"RMSE-16views": given},
    )  # fmt: skip


def labelled_views(data: Tables) -> Problem:
    """A row per speaker, letter and trial; the third trial is the test."""
    names = list(dict.fromkeys(data["speaker"].tolist()))[:3]
    chosen = np.isin(data["speaker"], names) & (data["letter"] <= "Q")
    label = np.where(data["speaker"][:, None] == np.array(names), 1.0, -1.0)
    views = rows_of({"audio": audio(data), "video": video(data), "speaker": label}, chosen)
    trial = data["trial"][chosen]
    given = {"RMSE-audio": ["audio"], "RMSE-audio-label": ["audio", "speaker"]}
    inner = trial[trial < 3] == 2
    return Problem(rows_of(views, trial < 3), rows_of(views, trial == 3), inner, "video", given)


def video(data: Tables) -> np.ndarray:
    """An utterance's frames, one after the other."""
    return data["video_24x12x16"].reshape(len(data["video_24x12x16"]), -1).astype(np.float64)


def audio(data: Tables) -> np.ndarray:
    """An utterance's sound features."""
    return data["audio_299"].astype(np.float64)


def rows_of(views: Tables, rows: np.ndarray) -> Tables:
    """The same views, some rows."""
    return {name: table[rows] for name, table in views.items()}


def baseline_rows(problem: Problem, measure: str) -> list[Row]:
    """Linear factors, mean, nearest neighbour, ridge and GP regression from the known views."""
    Y = problem.train[problem.target]
    X, T = problem.inputs(measure)
    scores = PCA(30, random_state=0).fit(Y)
    kernel = ConstantKernel(1.0) * RBF(1.0) + WhiteKernel(0.1)
    gp = GaussianProcessRegressor(kernel, random_state=0)
    sd = np.sqrt(scores.explained_variance_[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        by_gp = gp.fit(X, scores.transform(Y) / sd).predict(T) * sd
        factors = GroupFactorAnalysis(10, random_state=0).fit(problem.train)
    known = {name: problem.test[name] for name in problem.given[measure]}
    guesses = {
        "GFA": factors.predict(known, problem.target),
        "training mean": np.tile(Y.mean(axis=0), (len(T), 1)),
        "NN": Y[np.argmin(((T[:, None] - X) ** 2).sum(axis=2), axis=1)],
        "ridge": RidgeCV(10.0 ** np.arange(-4, 4)).fit(X, Y).predict(T),
        "GP regression": scores.inverse_transform(by_gp),
    }
    return [
        Row(name, measure, problem.error(guess, problem.test), ours=name == "GFA")
        for name, guess in guesses.items()
    ]
