"""Cross-view prediction, linear and not, beside GPy, cca_zoo, MOFA, and plain regression.

Silhouettes to poses, genes to lipids and back, and the toy of two views; see
:mod:`.peer_problems` for the splits and :mod:`.peer_methods` for the methods. All methods get
the same training rows, scaled alike, ten components where they have components, and default
settings otherwise, but for one row of MRD, whose kernel and power of the evidence are chosen in
folds of the training rows; nothing is chosen by the test rows. RMSE and NLPD are over all entries
of the target in its scaled units, NLPD with a Gaussian of the method's own mean and standard
deviation. The peers live in environments of their own (``benchmarks/peers.py``), made on
first use; ``--quick`` leaves them out. A full run takes an hour or so on two cores.
"""

import math
import sys
from collections import defaultdict
from collections.abc import Callable
from functools import partial

from benchmarks.peers import PeerError

from .peer_methods import BASELINES, LINEAR, PEERS, Answers, Peer, mrd
from .peer_problems import Problem, problems
from .setting import Setting
from .table import Row, summarise

DATA = ("toy", "nutrimouse", "pose")
POSE_SEEDS = 1  # the split is fixed, and a fit takes minutes
MIN_LIMIT = 30.0  # seconds
PUBLISHED = {"MRD, defaults": 4.67, "GP regression": 4.27, "1-NN": 4.88, "training mean": 6.16}


class Collected:
    """Measures of every method over the seeds, in the order of the methods."""

    def __init__(self) -> None:
        self.values: dict[tuple[str, str], list[float]] = defaultdict(list)
        self.seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
        self.notes: dict[tuple[str, str], str] = {}

    def add(self, method: str, problem: Problem, answers: Answers) -> None:
        """Measure one method's answers to one problem, and say so: a run is long."""
        for direction, answer in answers.items():
            found = problem.measures(direction, answer.mean, answer.std)
            say(problem, method, ", ".join(f"{key} {value:.4g}" for key, value in found.items()))
            for measure, value in found.items():
                self.values[method, measure].append(value)
                self.seconds[method, measure].append(answer.seconds)
                self.notes[method, measure] = answer.note

    def fail(self, method: str, problem: Problem, reason: str) -> None:
        """A method that does not answer keeps its rows."""
        say(problem, method, reason)
        for direction in problem.directions:
            for measure in measures_of(problem, direction):
                self.values[method, measure] += []
                self.notes[method, measure] = reason

    def rows(self) -> list[Row]:
        """All measures of all methods."""
        found = []
        for (method, measure), values in self.values.items():
            note = self.notes[method, measure]
            if not values:
                found.append(Row(method, measure, math.nan, seeds=0, note=note))
                continue
            seconds = self.seconds[method, measure]
            found.append(
                summarise(
                    method,
                    measure,
                    values,
                    seconds=sum(seconds) / len(seconds),
                    ours=method.startswith("MRD") or method in LINEAR,
                    published=PUBLISHED.get(method) if measure.endswith("distance") else None,
                    note=note,
                )
            )
        return found


def measures_of(problem: Problem, direction: str) -> list[str]:
    """The names of the measures."""
    target = problem.test[problem.directions[direction][1]]
    return list(problem.measures(direction, target, target**0))


def run(setting: Setting) -> list[Row]:
    """All methods on all data sets."""
    rows: list[Row] = []
    for name in DATA:
        given = list(problems(setting, name))
        drawn = given[:POSE_SEEDS] if name == "pose" else given
        split_only = given[:1] if name == "pose" else given  # for methods without a seed
        collected = Collected()
        spent: dict[int, float] = {}
        for method, model in LINEAR.items():
            ask(collected, method, model, split_only)
        for problem in drawn:
            for method, answers in mrd(problem, setting.quick).items():
                collected.add(method, problem, answers)
                spent[problem.seed] = max(answer.seconds for answer in answers.values())
        if not setting.quick:
            for method, peer in PEERS.items():
                limited = partial(at_least_as_long, peer, spent)
                ask(collected, method, limited, drawn[: peer.seeds.get(name)])
        for method, baseline in BASELINES.items():
            ask(collected, method, baseline, split_only)
        rows += collected.rows()
    return rows


def at_least_as_long(peer: Peer, spent: dict[int, float], problem: Problem) -> Answers:
    """Give a peer that needs a deadline the time that ours took, or half a minute."""
    return peer(problem, max(MIN_LIMIT, spent[problem.seed]))


def ask(
    collected: Collected,
    method: str,
    answer: Callable[[Problem], Answers],
    given: list[Problem],
) -> None:
    """Put the problems to a method; what it cannot do becomes a note."""
    for problem in given:
        try:
            collected.add(method, problem, answer(problem))
        except PeerError as error:
            collected.fail(method, problem, str(error))
            break


def say(problem: Problem, method: str, result: str) -> None:
    """Progress on stderr."""
    print(f"seed {problem.seed}, {method}: {result}", file=sys.stderr, flush=True)
