"""The shell examples of the documentation run as they stand (the Python ones are doctests).

Its links lead somewhere, its names are names, its reference is complete, and its hooks do what
they say.
"""

import ast
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import time
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from markdown.extensions.toc import slugify

from manyviews.cli import main
from manyviews.cli.settings import RunOptions

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
EXAMPLES = sorted((DOCS / "gallery").glob("*.py"))
SOURCES = sorted((ROOT / "src").rglob("*.py"))


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::manyviews.errors.ManyviewsWarning")
def test_commands_run_as_documented(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "command.md").read_text()
    lines = [line[2:] for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL)
             for line in block.splitlines() if line.startswith("$ ")]  # fmt: skip
    assert len(lines) >= 7
    for line in lines:
        program, *arguments = shlex.split(line)
        if program == "python":
            subprocess.run([sys.executable, *arguments], check=True)
        else:
            assert main(arguments) == 0, line
    for made in ("run/report.html", "predictions/lower_std.csv", "latent/latent.csv",
                 "imputed/upper.csv", "page.html"):  # fmt: skip
        assert (tmp_path / made).exists()


def test_option_files_are_as_documented(tmp_path):
    page = (DOCS / "command.md").read_text()
    (block,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "options.toml").write_text(block)
    run = RunOptions.read(tmp_path / "options.toml")
    assert run.options["n_inducing"] == {"upper": 15, "lower": 10}


def test_every_page_is_in_the_navigation():
    listed = re.findall(r"([\w/-]+\.md)", (ROOT / "mkdocs.yml").read_text())
    pages = [path.relative_to(DOCS).as_posix() for path in (*PAGES, *EXAMPLES)]
    assert sorted(listed) == sorted(page.removesuffix(".py").removesuffix(".md") + ".md"
                                    for page in pages)  # fmt: skip


def prose(path):
    """The text of a page, without its code."""
    text = path.read_text()
    if path.suffix == ".py":
        text = "\n".join(
            re.findall(r'\A"""(.*?)"""', text, re.DOTALL) + re.findall("^# (.*)", text, re.M)
        )
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


@cache
def anchors(path):
    """What links to a page may name after the sign #."""
    if path.suffix == ".md" and path.parent.name == "reference":
        described = crossref().described(path.read_text())
    else:
        described = []
    titles = re.findall(r"^#+ (.+)", prose(path), re.MULTILINE)
    return {
        slugify(re.sub(r"\[([^\]]*)\]\([^)]*\)|`", r"\1", title), "-") for title in titles
    } | set(described)


@pytest.mark.parametrize("page", [*PAGES, *EXAMPLES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"],
                         ids=lambda path: path.name)  # fmt: skip
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"https?:|mailto:", target):
            continue
        name, _, anchor = target.partition("#")
        found = (page.parent / name).resolve() if name else page
        made = found.with_suffix(".py")  # a page that the build makes of an example
        if not found.exists() and made in EXAMPLES:
            found = made
        if page in EXAMPLES and name.startswith(f"{page.stem}/"):
            continue  # a file that the example writes
        assert found.exists(), f"{page.name}: {target}"
        assert not anchor or anchor in anchors(found), f"{page.name}: {target}"


@pytest.mark.parametrize("path", [DOCS, ROOT / "src"], ids=["docs", "src"])
def test_names_are_words_in_backticks_and_no_roles(path):
    for file in (*path.rglob("*.md"), *path.rglob("*.py")):
        if path / "hooks" not in file.parents:
            roles = re.findall(
                r":(?:class|func|meth|attr|mod|data|exc|obj|ref):`[^`]*`", file.read_text()
            )
            assert not roles, f"{file.name}: write {roles[0]} as a name in backticks"


def test_full_names_exist():
    for file in (*PAGES, *SOURCES, ROOT / "README.md"):
        for name in re.findall(r"`(manyviews\.[\w.]+)(?:\(\))?`", file.read_text()):
            assert exists(name), f"{file.name}: there is no {name}"


@cache
def exists(name):
    """Whether the library has a dotted name."""
    try:
        return crossref().package()[name.removeprefix("manyviews.")] is not None
    except KeyError:
        return False


def test_cited_works_are_in_the_bibliography():
    bibliography = (DOCS / "bibliography.md").read_text()
    keys = set(re.findall(r"^- \*\*\[(\w+)\]\*\*", bibliography, re.MULTILINE))
    assert keys == set(crossref().KEYS)
    for file in (*PAGES, *SOURCES):
        cited = re.findall(r"\[([A-Z][A-Za-z]+\d\d)(?=[,;\]])", file.read_text())
        assert set(cited) <= keys, file.name


@cache
def crossref():
    return hook("crossref")


def hook(name):
    """A hook of the build, which is no part of a package."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "hooks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def described():
    """The names that the reference describes."""
    pages = sorted((DOCS / "reference").glob("*.md"))
    return [name for page in pages for name in crossref().described(page.read_text())]


ROOMS = ("", "errors", "explore", "kernels", "likelihoods", "linear", "mixtures", "plot", "points",
         "report", "stacking")  # fmt: skip
NO_OBJECTS = {"__version__", "KINDS", *ROOMS}


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_is_in_the_reference_once(room):
    names = described()
    assert len(set(names)) == len(names)
    package = f"manyviews.{room}".rstrip(".")
    if package in names:  # all of it
        return
    module = import_module(package)
    for name in set(module.__all__) - NO_OBJECTS:
        same = [full for full in names if full.rpartition(".")[2] == name]
        assert any(member(full) is getattr(module, name) for full in same), f"{package}.{name}"


def member(name):
    room, _, last = name.rpartition(".")
    return getattr(import_module(room), last)


def test_everything_in_the_reference_is_described():
    for name in described():
        undescribed(crossref().package()[name.removeprefix("manyviews.")], seen := set())
        assert seen


def undescribed(item, seen):
    """Assert that an object, its arguments and its methods say what they are."""
    item = item.final_target if item.is_alias else item
    if item.path in seen:
        return
    seen.add(item.path)
    for section in item.docstring.parse("numpy") if item.docstring else ():
        if section.kind.value in ("parameters", "attributes", "returns"):
            for entry in section.value:
                assert (entry.description or "").strip(), f"{item.path}: {entry.name}"
    if item.is_class:
        for part in item.members.values():
            if not part.name.startswith("_"):
                undescribed(part, seen)


def test_names_and_citations_become_links():
    found = crossref()
    names = {
        "manyviews.MRD": "reference/views.html#manyviews.MRD",
        "manyviews.MRD.fit": "reference/views.html#manyviews.MRD.fit",
        "manyviews.load": "reference/fitting.html#manyviews.load",
    }
    index = found.by_last_words(names)

    def linked(html, url="mrd.html"):
        return found.linked(html, url, lambda n, s: found.find(n, s, names, index))

    link = '<a class="name" href="reference/views.html#manyviews.MRD"><code>MRD</code></a>'
    assert linked("<code>MRD</code>") == link
    assert "views.html#manyviews.MRD.fit" in linked("<code>MRD.fit</code>")
    assert "fitting.html" in linked("<code>load()</code>")
    for plain in ("<code>load</code>", "<code>fit()</code>", "<pre><code>MRD</code></pre>",
                  '<a href="x"><code>MRD</code></a>', "<h2><code>MRD</code></h2>"):  # fmt: skip
        assert linked(plain) == plain
    inside = '<h3 id="manyviews.MRD">MRD</h3><code>fit()</code>'
    assert 'href="#manyviews.MRD.fit"' in linked(inside, "reference/views.html")
    assert linked("<p>[MRD21, §4]</p>") == (
        '<p>[<a class="key" href="bibliography.html#mrd21">MRD21</a>, §4]</p>')  # fmt: skip


EXAMPLE = '''"""
# A title

What it shows.
"""

# %%
import matplotlib.pyplot as plt
import pandas as pd

print("said")
pd.DataFrame({"a": [1.234]})

# %%
# ## A picture

plt.plot([1, 2])

# %%
# The answer is {{ 6 * 7 }}.
'''


def test_an_example_becomes_a_page(tmp_path):
    script = tmp_path / "small.py"
    script.write_text(EXAMPLE)
    runner = DOCS / "hooks" / "run_example.py"
    subprocess.run([sys.executable, runner, script, tmp_path / "made"], check=True)
    page = (tmp_path / "made" / "page.md").read_text()
    assert page.startswith("# A title\n\nWhat it shows.")
    for part in ('print("said")', "Output\"\nsaid\n", "<td>1.23</td>", "## A picture",
                 "![](small/0.png)", "The answer is 42."):  # fmt: skip
        assert part in page
    assert "Line2D" not in page
    assert (tmp_path / "made" / "files" / "0.png").stat().st_size > 1000
    title, text = hook("examples").head(page)
    assert (title, text) == ("A title", "What it shows.")


TOGETHER = """Fit.

Parameters
----------
X : array
    Data.
times, sequences : array-like
    A stamp
    of each.
a, b

Returns
-------
mean, std
    Moments."""


def test_arguments_described_together_are_told_apart():
    divided = hook("one_by_one").divided(TOGETHER)
    text = "A stamp\n    of each.\n"
    assert f"times : array-like\n    {text}sequences : array-like\n    {text}" in divided
    assert "\na\n\nb\n" in divided
    assert divided.endswith("Returns\n-------\nmean, std\n    Moments.")
    assert hook("one_by_one").divided("No, sections : here.") == "No, sections : here."


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_examples_can_be_read(script):
    found = hook("run_example").cells(script.read_text())
    for text, code in found:
        compile(code, str(script), "exec")
        for value in re.findall(r"\{\{(.+?)\}\}", text):
            compile(value.strip(), str(script), "eval")
    title, text = hook("examples").head(ast.get_docstring(ast.parse(script.read_text())))
    assert title
    assert text.endswith((".", "?"))


@pytest.mark.long
def test_the_site_builds_and_works_without_network(tmp_path, browser):
    environment = {**os.environ, "MANYVIEWS_DOCS_EXAMPLES": "off", "NO_MKDOCS_2_WARNING": "1"}
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path]
    subprocess.run(build, cwd=ROOT, env=environment, check=True)
    outside = re.compile(r'<(?:script|link|img)[^>]+(?:src|href)="https?://')
    for page in tmp_path.rglob("*.html"):
        assert not outside.search(page.read_text()), page.name
    browser.get((tmp_path / "mrd.html").as_uri())
    assert browser.execute_script("return document.querySelectorAll('.katex').length") > 1
    assert not browser.execute_script("return document.querySelectorAll('.katex-error').length")
    browser.get((tmp_path / "index.html").as_uri() + "?q=inducing")
    ask = "return document.querySelectorAll('.md-search-result__item').length"
    end = time.monotonic() + 20
    while not browser.execute_script(ask) and time.monotonic() < end:
        time.sleep(0.2)
    assert browser.execute_script(ask) > 0
