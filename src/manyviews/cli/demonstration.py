"""The demonstration behind ``make demo``: two halves of handwritten digits.

The upper and the lower half of an image are two views of it. What do they share, and what does
one say of the other? Five of the ten digits, because they make a readable map.
"""

import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

from ..errors import ManyviewsWarning
from ..inference.search import Search
from ..report import write_report
from ..variational import MRD
from .run_folder import RunFolder
from .settings import RunOptions

N_SAMPLES, N_NEW = 500, 100
SEARCH: Search | None = None
HALF = (4, 8)  # height and width of a half


def main(folder: str | Path = "results/demo") -> None:
    """Fit, save, predict one half from the other, and write a page with what was found."""
    views, digits = halves(N_SAMPLES + N_NEW)
    train = {name: view[:N_SAMPLES] for name, view in views.items()}
    new = {name: view[N_SAMPLES:] for name, view in views.items()}
    run = RunFolder(Path(folder))
    run.create(overwrite=True)
    print(f"fitting the halves of {N_SAMPLES} images of the digits 0 to 4, no labels given ...")
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ManyviewsWarning)  # dark margins are constant columns
        model = MRD(10, n_inducing=50, search=SEARCH, random_state=0, verbose=1).fit(train)
    print(f"fitted in {time.perf_counter() - began:.0f} s; writing the report ...")
    model.save(run.model)
    shapes = dict.fromkeys(views, "x".join(map(str, HALF)))
    RunOptions(shapes=shapes, title="Two halves of a digit").write(run.options)
    assessments = write_report(
        model,
        run.report,
        title="Two halves of a digit",
        held_out=new,
        metadata={"digit": digits[:N_SAMPLES]},
        shapes=shapes,
        facts={"data": "handwritten digits of scikit-learn, upper and lower half as two views"},
    )
    labels = pd.DataFrame({"digit": digits[:N_SAMPLES]}, index=model.samples_)
    run.write_tables(model, labels=labels)
    for assessment in assessments:
        row = assessment.summary()
        print(
            f"  {row['view']} from {row['predicted from']}: "
            f"{row['variance explained']:.0%} of the variance "
            f"(ridge {row['variance explained, ridge']:.0%}); 90 % intervals hold "
            f"{row['coverage of 90 % intervals']:.0%}"
        )
    print(f"  model   {run.model}")
    print(f"open {run.report} in a browser")


def halves(n_samples: int) -> tuple[dict[str, pd.DataFrame], np.ndarray]:
    """Upper and lower halves of images of the digits 0 to 4, and the digits as words."""
    found = load_digits()
    chosen = np.flatnonzero(found.target < 5)[:n_samples]
    images = found.data[chosen]
    n = HALF[0] * HALF[1]
    index = [f"image {i}" for i in chosen]
    parts = {"upper half": images[:, :n], "lower half": images[:, n:]}
    views = {name: pd.DataFrame(part, index=index) for name, part in parts.items()}
    return views, found.target[chosen].astype(str)
