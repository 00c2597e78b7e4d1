"""What collaborative models cost: the papers' two data sets in size, and growth with D, J and M.

One evaluation is the whole bound of a two-view McGPDS and its gradient. The data are random
numbers: nothing here depends on their values.
"""

import time

import numpy as np

from manyviews._runtime import single_threaded_blas
from manyviews.inference.bound import Model
from manyviews.inference.objective import Objective
from manyviews.kernels import RBF, Matern32
from manyviews.latent import Collaborative, make_sequences
from manyviews.mappings import CollaborativeGP, CollapsedGP, Mapping, make_outputs

from .report import Report

ROUNDS = 5
MOST_FACTORISED = 1000  # outputs that get a matrix each
POSE = (34, 23, 22, 161, 193, 80, 53)  # rows of the sequences of pose-mc
SPEECH = (194,)


def run(quick: bool) -> list[Report]:
    return [published_sizes(quick), growth(quick)]


def mapping(D: int, J: int, M: int, Q: int, rng: np.random.Generator) -> Mapping:
    kernel, Z = RBF(1.0, np.ones(Q)), rng.standard_normal((M, Q))
    if not J:
        return CollapsedGP(kernel, Z, 0.1)
    local = [RBF(1.0, np.full(Q, 0.5)) for _ in range(J)]
    inducing = [rng.standard_normal((M, Q)) for _ in range(J)]
    return CollaborativeGP(kernel, Z, local, inducing, rng.standard_normal((D, J)), 0.1)


def objective(lengths: tuple[int, ...], columns: tuple[int, ...], J: int, M: int) -> Objective:
    """Paths of five dimensions for every view."""
    rng, Q, K = np.random.default_rng(0), 5, len(columns)
    code = np.repeat(np.arange(len(lengths)), lengths)
    inputs = np.concatenate([np.arange(float(n)) for n in lengths])[:, None]
    kernel = Matern32(1.0, np.array([5.0]))
    latent = Collaborative(
        make_sequences(inputs, code), kernel, (kernel,) * K,
        rng.standard_normal((len(code), K * Q)), 10.0,
    )  # fmt: skip
    views = tuple(mapping(D, J, M, Q, rng) for D in columns)
    tables = [rng.standard_normal((len(code), D)) for D in columns]
    return Objective(Model(latent, views), tuple(make_outputs(Y, "exact") for Y in tables))


def published_sizes(quick: bool) -> Report:
    """pose-mc (566 rows, 100 + 63 columns) and cuave (194 rows, 3750 + 13), Q = 5."""
    sizes = {"pose-mc": (POSE, (100, 63)), "cuave": (SPEECH, (3750, 13))}
    report = Report("Two views, Q=5: CPU seconds of bound and gradient")
    inducing = (10,) if quick else (50, 100)
    for name, (lengths, columns) in sizes.items():
        for M in inducing:
            objectives = {f"J = {J}": objective(lengths, columns, J, M) for J in (0, 1)}
            times, first = cpu_seconds(objectives, quick)
            row = {"data": name, "M": M, **times, "first s, J = 1": first["J = 1 s"]}
            report.rows.append(row)
    return report


def growth(quick: bool) -> Report:
    """One view of 200 rows: D with one local process (a spectrum) and two (a Cholesky each)."""
    report = Report(
        "One view, N=200 Q=5: CPU seconds of bound and gradient",
        note="J = 1 diagonalises all outputs at once, J = 2 factorises a matrix for each "
        "(beyond a thousand outputs, draw some of them in each step)",
    )
    shapes = [(D, M) for D in (10, 100, 1000, 4000) for M in (50,)] + [(100, M) for M in (25, 100)]
    for D, M in shapes[:1] if quick else shapes:
        processes = (0, 1, 2) if D <= MOST_FACTORISED else (0, 1)
        objectives = {f"J = {J}": objective((200,), (D,), J, M) for J in processes}
        report.rows.append({"D": D, "M": M, **cpu_seconds(objectives, quick)[0]})
    return report


def cpu_seconds(
    objectives: dict[str, Objective], quick: bool
) -> tuple[dict[str, float], dict[str, float]]:
    """Median CPU seconds of an evaluation, taken in turn; and of the first, which compiles."""
    taken: dict[str, list[float]] = {f"{name} s": [] for name in objectives}
    with single_threaded_blas():
        for _ in range(2 if quick else 1 + ROUNDS):
            for name, one in objectives.items():
                began = time.process_time()
                one(one.start)
                taken[f"{name} s"].append(time.process_time() - began)
    return (
        {name: float(np.median(values[1:])) for name, values in taken.items()},
        {name: values[0] for name, values in taken.items()},
    )
