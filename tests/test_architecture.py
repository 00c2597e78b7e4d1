"""The house: imports point one way, ancestry is short, nothing private is borrowed."""

import ast
from pathlib import Path

import pytest
from sklearn.utils import all_estimators

import manyviews
from manyviews import linear, points
from manyviews.shells import TableModel, ViewsModel

SOURCE = Path(manyviews.__file__).parent
ORDER = [
    {"errors"},
    {"_runtime"},
    {"_optional", "devices", "options", "processes", "schema", "storage"},
    {"escaping", "encoding"},
    {"io"},
    {"data"},
    {"parameters", "linalg"},
    {"kernels"},
    {"expectations"},
    {"likelihoods"},
    {"checking"},
    {"latent"},
    {"mappings"},
    {"inference"},
    {"fitted"},
    {"shells"},
    {"linear"},
    {"points", "variational"},
    {"mixtures"},
    {"composed"},
    {"stacking"},
    {"catalogue"},
    {"plot"},
    {"interop"},
    {"report"},
    {"explore"},
    {"cli"},
]
LEVEL = {room: level for level, rooms in enumerate(ORDER) for room in rooms}
CATALOGUE = [
    getattr(module, name)
    for module in (manyviews, linear, points)
    for name in module.__all__
    if isinstance(getattr(module, name), type) and hasattr(getattr(module, name), "get_params")
]


def imported(path):
    """The rooms that a file imports, at its top level or inside functions."""
    package = ["manyviews", *path.relative_to(SOURCE).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = [*base, *(node.module or "").split(".")] if node.module else base
            names = [".".join(module)]
            if names == ["manyviews"]:
                names = [f"manyviews.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "manyviews" and len(parts) > 1 and parts[1] != "__version__":
                yield parts[1]


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: p.stem)
def test_imports_point_downwards(path):
    room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    if room in {"__init__", "__main__"}:
        return
    for other in imported(path):
        if other in {room, "load"} or other[0].isupper():
            continue
        assert LEVEL[other] < LEVEL[room], f"{path.name} of {room} imports {other}"


def test_no_private_names_of_scikit_learn():
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sklearn"):
                names = [*node.module.split("."), *(alias.name for alias in node.names)]
                assert not any(name.startswith("_") for name in names), path


@pytest.mark.parametrize("kind", CATALOGUE, ids=lambda kind: kind.__name__)
def test_ancestry_is_short(kind):
    ours = [base for base in kind.__mro__[1:] if base.__module__.startswith("manyviews")]
    assert len(ours) <= 3
    predicts = [base for base in kind.__mro__ if "predict" in vars(base)]
    assert len([b for b in predicts if b.__module__.startswith("manyviews")]) <= 1


def test_every_model_of_views_or_of_a_table_is_in_the_catalogue():
    known = {kind for _, kind in all_estimators()}
    models = {k for k in _descendants(TableModel) | _descendants(ViewsModel) if k not in known}
    public = {k for k in models if not _descendants(k) and k.__module__.startswith("manyviews")}
    assert public <= set(CATALOGUE)


def _descendants(kind):
    return {kind_ for sub in kind.__subclasses__() for kind_ in {sub, *_descendants(sub)}}
