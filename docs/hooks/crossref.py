"""A hook of MkDocs: names in code style link to the reference, citations to the bibliography.

`MRD`, `MRD.predict`, `manyviews.load` and `predict()` (of the class whose documentation says
so) become links wherever the reference describes what they name; so do `[BGPLVM16, eq. 41]`
and `Yao et al. 2018`. In source code and in ``help()`` they stay the plain words they are.
"""

import re
from collections import defaultdict
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from mkdocs.utils import get_relative_url

PACKAGE = "manyviews"
BIBLIOGRAPHY = "bibliography"
KEYS = ("MRD21", "BGPLVM16", "McGPDS23", "MRD12", "Leen08")
SKIPPED = r"<pre\b.*?</pre>|<a\b.*?</a>|<autoref\b.*?</autoref>|<script\b.*?</script>"
HEADING = r"<h(?P<level>[1-6])\b(?P<attributes>[^>]*)>.*?</h(?P=level)>"
CODE = r"(?P<role>:[a-z]+:)?<code>(?P<name>~?[\w.]+(?:\(\))?)</code>"
CITED = r"(?<![\w/#])(?P<key>" + "|".join(KEYS) + r")(?!\w)"
WORDS = re.compile(f"(?s){SKIPPED}|{HEADING}|{CODE}|<[^>]*>|{CITED}")


def on_env(env: Any, config: Any, files: Any) -> Any:
    """Link names once all pages and their anchors are there."""
    targets = config.plugins["autorefs"]._primary_url_map
    names = {name: urls[0] for name, urls in targets.items() if name.startswith(f"{PACKAGE}.")}
    index = by_last_words(names)
    for name, place in list(names.items()):  # a room is where the first of its names is
        room = name.rpartition(".")[0]
        if room.rpartition(".")[2].islower() and room != PACKAGE:
            names.setdefault(room, place.partition("#")[0])
    for file in files.documentation_pages():
        if file.page is not None and file.page.content:
            resolve = partial(find, names=names, index=index)
            file.page.content = linked(file.page.content, file.page.url, resolve)
    return env


def by_last_words(names: dict[str, str]) -> dict[str, list[str]]:
    """Full names by their last word and by their last two: the shorter first."""
    index: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names, key=lambda name: (name.count("."), name)):
        words = name.split(".")
        for n in range(1, len(words)):
            index[".".join(words[-n:])].append(name)
    return index


def find(name: str, scope: str, names: dict[str, str], index: dict[str, list[str]]) -> str | None:
    """Where the name is described: as seen from the object that mentions it, else anywhere.

    A word without capitals and dots may be an argument; it is a name only as ``predict()``.
    """
    called = name.endswith("()")
    name = name.lstrip("~.").removesuffix("()")
    if not (called or "." in name or name[:1].isupper()):
        return None
    while scope:
        if f"{scope}.{name}" in names and f"{scope}.{name}" != scope:
            return names[f"{scope}.{name}"]
        scope = scope.rpartition(".")[0]
    if name in names:
        return names[name]
    known = index.get(name, [])
    if "." not in name and not name[:1].isupper():
        known = [full for full in known if not full.split(".")[-2][:1].isupper()]
    return names[known[0]] if known else None


def linked(html: str, url: str, resolve: Callable[[str, str], str | None]) -> str:
    """The page with its names and citations linked."""
    scope = ""

    def replace(found: re.Match[str]) -> str:
        nonlocal scope
        if found["attributes"] is not None:
            anchor = re.search(r'id="([^"]+)"', found["attributes"])
            scope = anchor[1] if anchor and anchor[1].startswith(PACKAGE) else ""
        elif found["name"] is not None:
            code = f"<code>{found['name'].lstrip('~')}</code>"
            target = resolve(found["name"], scope)
            if target is not None and target != f"{url}#{scope}":
                page, sign, anchor_id = target.partition("#")
                link = f"{relative(page, url)}{sign}{anchor_id}"
                return f'<a class="name" href="{link}">{code}</a>'
            return code if found["role"] is not None else found[0]
        elif found["key"] is not None and Path(url).stem != BIBLIOGRAPHY:
            page = f"{BIBLIOGRAPHY}.html"
            return (
                f'<a class="key" href="{relative(page, url)}#{found["key"].lower()}">{found[0]}</a>'
            )
        return found[0]

    return WORDS.sub(replace, html)


def relative(page: str, url: str) -> str:
    """The page as linked from the other; nothing if it is the same."""
    return "" if page == url else get_relative_url(page, url)


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Give the keys of the bibliography anchors, and the overview of the reference its table."""
    if page.file.src_uri == f"{BIBLIOGRAPHY}.md":
        markdown = re.sub(
            r"^- \*\*\[(\w+)\]\*\*", lambda k: f'- <a id="{k[1].lower()}"></a>**[{k[1]}]**',
            markdown, flags=re.MULTILINE,
        )  # fmt: skip
    if page.file.src_uri == "reference/index.md":
        source = Path(config.docs_dir, "reference")
        markdown = markdown.replace("<!-- overview -->", overview(source))
    return markdown


def overview(folder: Path) -> str:
    """All names of the reference by page, each with the first sentence of its docstring."""
    parts = []
    for path in sorted(folder.glob("*.md"), key=lambda path: place(path)):
        if path.name == "index.md":
            continue
        text = path.read_text(encoding="utf-8")
        title = re.search(r"^# (.+)", text, re.MULTILINE)[1]  # type: ignore[index]
        rows = [
            f"| [`{name.rpartition('.')[2]}`][{name}] | {summary(name)} |"
            for name in described(text)
        ]
        parts += [f"## [{title}]({path.name})", "| | |\n|---|---|\n" + "\n".join(rows)]
    return "\n\n".join(parts)


def described(text: str) -> list[str]:
    """The names that a page of the reference describes."""
    return re.findall(r"^::: ([\w.]+)", text, re.MULTILINE)


@cache
def package() -> Any:
    """The library, read and not imported."""
    import griffe

    found = griffe.load(PACKAGE, search_paths=[str(Path(__file__).parents[2] / "src")])
    griffe_resolve = getattr(found, "resolve_aliases", None)
    if griffe_resolve:
        griffe_resolve()
    return found


def summary(name: str) -> str:
    """The first sentence of what the docstring says."""
    docstring = package()[name.removeprefix(f"{PACKAGE}.")].docstring
    text = " ".join((docstring.value if docstring else "").split("\n\n")[0].split())
    return text.replace("|", "\\|")


def place(path: Path) -> tuple[int, str]:
    """The order of the navigation."""
    nav = (path.parents[2] / "mkdocs.yml").read_text(encoding="utf-8")
    return nav.find(f"reference/{path.name}"), path.name
