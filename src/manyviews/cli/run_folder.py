"""A run folder: options, versions, model, tables and report, enough to do it all again."""

import hashlib
import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import pandas as pd

from ..data.files import split_source
from ..data.values import dated
from ..errors import DataError, OptionError
from ..escaping import file_names
from ..plot.subject import Subject
from ..storage import write_text, writing
from .csv_files import write_csv
from .settings import RunOptions

LABELS = "labels.csv"
LIBRARIES = ("manyviews", "jax", "jaxlib", "numpy", "scipy", "scikit-learn", "pandas")


class RunFolder:
    """The files of one run, by what they are."""

    def __init__(self, path: Path):
        self.path = path
        self.options = path / "options.toml"
        self.record = path / "run.json"
        self.model = path / "model.safetensors"
        self.checkpoint = path / "fit.checkpoint"
        self.tables = path / "tables"
        self.report = path / "report.html"

    @classmethod
    def of(cls, model_file: Path) -> Self | None:
        """The run that a model file belongs to, if it lies in the folder of one."""
        folder = cls(model_file.parent)
        return folder if folder.options.exists() and folder.model == model_file else None

    def known_shapes(self) -> dict[str, str]:
        """How to draw the views, as the run was told."""
        return RunOptions.read(self.options).shapes

    def known_labels(self, model: Any) -> pd.DataFrame | None:
        """What the run was told of the model's training samples, to colour them by."""
        path, samples = self.tables / LABELS, getattr(model, "samples_", None)
        if samples is None or not path.exists():
            return None
        table = pd.read_csv(path, index_col=0).apply(dated)
        if len(table) != len(samples):
            raise DataError(f"{path} has {len(table)} rows for {len(samples)} samples: remove it")
        return table.set_axis(pd.Index(samples), axis=0)

    def create(self, overwrite: bool) -> None:
        """Make the folder, unless that would bury another run."""
        if self.path.exists() and not self.path.is_dir():
            raise OptionError(f"{self.path} is a file: --out names a folder")
        if self.model.exists() and not overwrite:
            raise OptionError(
                f"{self.path} holds a finished run: name another folder, or give --overwrite"
            )
        if self.checkpoint.exists() and not overwrite:
            raise OptionError(
                f"{self.path} holds an unfinished run: go on with it by --resume {self.path}, "
                "or give --overwrite"
            )
        with writing(self.path):
            for old in self.path.glob(f"{self.checkpoint.name}*"):
                old.unlink(missing_ok=True)
            self.tables.mkdir(parents=True, exist_ok=True)

    def write_record(self, run: RunOptions, **facts: Any) -> dict[str, Any]:
        """Versions, checksums of the inputs and what happened, as JSON."""
        sources = [*run.views, run.times, run.sequences, run.labels]
        record = {
            **facts,
            "seed": run.seed,
            "versions": {name: version(name) for name in LIBRARIES},
            "python": platform.python_version(),
            "machine": platform.platform(),
            "inputs": {s: _checksum(s) for s in sources if s is not None},
        }
        write_text(self.record, json.dumps(record, indent=2, default=str) + "\n")
        return record

    def write_tables(self, model: Any, **more: pd.DataFrame) -> None:
        """What the model found, as CSV files."""
        subject = Subject(model)
        n_dimensions = subject.latent.shape[1]
        columns = [f"mean_{d}" for d in range(n_dimensions)]
        columns += [f"std_{d}" for d in range(n_dimensions)]
        moments = [pd.DataFrame(subject.latent), pd.DataFrame(model.latent_std_)]
        latent = pd.concat(moments, axis=1).set_axis(columns, axis=1)
        tables = {
            "latent": latent.set_axis(subject.model.samples_, axis=0),
            "relevance": subject.relevance,
            "variance_explained": subject.explained(),
            **{f"sensitivity_{view}": subject.sensitivity(view) for view in subject.names},
            **more,
        }
        places = file_names(tables)
        for name, table in tables.items():
            write_csv(table, self.tables / f"{places[name]}.csv")


def _checksum(source: str) -> str:
    try:
        path = split_source(source)[1]
    except ValueError:
        path = Path(source.rpartition(":")[0])
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
