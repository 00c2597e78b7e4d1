"""The experiments: what each reproduces, by which rule it chooses, and what its fits see.

One protocol holds for all of them, for our models and for rivals. What is chosen is chosen on
training data alone: by the bound, or by the error or the density of training rows that are held
out, as the entry says. Test targets and test labels enter no fit and choose nothing. Where an
entry says that a choice was made with test results in sight, the tables mark it with a dagger.
"""

from typing import NamedTuple

ROWS = "training rows"
BOUND = "of several starts the one with the highest bound"
NOTHING = "nothing: options are those of the paper, or defaults"


class Experiment(NamedTuple):
    """What a result file says about an experiment, besides its numbers."""

    reproduces: str
    chooses: str
    sees: str
    folders: tuple[str, ...] = ()
    """Finished pieces of these other experiments that it shares."""


EXPERIMENTS = {
    "avletters": Experiment(
        "[MRD21, §5.5]",
        "Q, start and private dimensions by the error of held-out training rows",
        ROWS,
    ),
    "cmu35": Experiment(
        "[BGPLVM16, §5.3]",
        NOTHING,
        "the 31 sequences, and all of the test sequence but the part that is to be guessed",
    ),
    "cuave": Experiment(
        "[McGPDS23, §6.3]",
        "kind, power and private path by the error of left-out stretches of training frames, "
        "whose length is set by test pictures",
        "training frames; test pictures set the length of the stretches",
    ),
    "defaults": Experiment(
        "none: real tables",
        "options by the density gained over ridge regression in the half of the data sets that "
        "chooses",
        "training folds",
        ("tables",),
    ),
    "exam": Experiment("[Leen08, §3.6.3]", NOTHING, "training folds; correlations: all rows"),
    "fi-mrd": Experiment("[MRD21, §5.6]", BOUND, "all rows; limbs are for measuring only"),
    "imputation": Experiment("none: peers", NOTHING, "the values that are not hidden"),
    "kinds": Experiment("none: real tables", NOTHING, "training folds"),
    "kinds-findings": Experiment("none: simulations", NOTHING, "all rows"),
    "labels": Experiment(
        "none: classes", "the default of MRDClassifier by the log loss of folds", "training folds"
    ),
    "mackey": Experiment("[BGPLVM16, §6.1.1]", "the kernel by the bound", "the training part"),
    "missing-inputs": Experiment("[BGPLVM16, §6.2.1]", NOTHING, ROWS),
    "oil-class": Experiment("[MRD21, §5.4; MRD12]", BOUND, "training rows with their labels"),
    "oil-map": Experiment("[BGPLVM16, §5.2]", BOUND, "all rows; labels are for measuring only"),
    "peers": Experiment(
        "none: peers",
        "one row of MRD: kernel and power by the density of folds of the training rows",
        "training rows; MOFA: the source view of the test rows as well",
    ),
    "pose": Experiment(
        "[MRD21, §5.3; MRD12]",
        "start, size, prior, private dimensions and power on held-out training sequences, by "
        "distance and by density",
        "training sequences; the clock of the test sequence is doubled",
    ),
    "pose-mc": Experiment(
        "[McGPDS23, §6.2]",
        "sharing, start, power and private path on held-out training sequences, by distance and "
        "by density",
        "training sequences, of which the clock of sequence 8 is doubled",
    ),
    "robustness": Experiment("none: our defaults", NOTHING, "training rows with their labels"),
    "tables": Experiment("none: real tables", NOTHING, "training folds"),
    "taught": Experiment("none: simulations", NOTHING, "training samples; new ones as said"),
    "thesis-gplvm": Experiment(
        "[Leen08, chapters 3 and 4]",
        "the ridge of the noise by the error of held-out training faces; the prior of the bars by "
        "whether both sets use the shared images",
        "training samples",
    ),
    "thesis-mixture": Experiment("[Leen08, §5.2, §5.5]", NOTHING, "training samples"),
    "toy": Experiment("[MRD21, §5.1]", BOUND, "training samples; signals are for measuring only"),
    "toy-mc": Experiment("[McGPDS23, §6.1]", BOUND, "all samples; signals are for measuring only"),
    "usps": Experiment(
        "[BGPLVM16, §5.5]", "powers on a held-out sixth of the training digits", "training digits"
    ),
    "video": Experiment("[BGPLVM16, §5.4]", BOUND, "training frames"),
    "yale": Experiment("[MRD21, §5.2]", NOTHING, "all pictures; labels are for measuring only"),
}


def module(name: str) -> str:
    """The file of an experiment, without its ending."""
    return name.replace("-", "_")
