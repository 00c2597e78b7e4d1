"""One self-contained HTML page: light and dark, wide and narrow, nothing from the network."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import date
from importlib.metadata import version
from importlib.resources import files
from io import StringIO
from typing import Any

import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from ..escaping import in_html

HEADING = re.compile(r"<section id='([^']*)'><h2>(.*?)</h2>")
POINT = re.compile(r"<use([^>]*)/>")
INK = "#010203"  # stands for the colour of the page's text until the page is written


def drawing(
    draw: Callable[[Figure], Any],
    caption: str,
    size: tuple[float, float] = (6.0, 4.0),
    hover: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """A matplotlib figure as inline SVG whose lines and letters take the page's colours.

    ``draw`` fills the figure it is given; the caption is also the text for screen readers.

    Parameters
    ----------
    hover : dict of str by gid, optional
        Texts that appear over the points of a scatter plot with that ``gid``, in their order.
    """
    with ink(caption):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        buffer = StringIO()
        figure.savefig(buffer, format="svg", transparent=True, dpi=144, metadata={"Date": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{in_html(caption)}" ', 1)
    for gid, texts in (hover or {}).items():
        svg = _with_titles(svg, gid, texts)
    width = (
        f"max-width:{size[0] * 1.15:.2f}in;flex:{size[0]:.1f} 1 min({0.8 * size[0]:.2f}in, 100%)"
    )
    return f'<figure style="{width}">{svg}<figcaption>{in_html(caption)}</figcaption></figure>'


def _with_titles(svg: str, gid: str, texts: Sequence[str]) -> str:
    """Titles for the points of one collection: browsers show them under the pointer."""
    start = svg.find(f'<g id="{gid}"')
    if start < 0:
        return svg
    end = svg.find('<g id="', start + 1)
    end = len(svg) if end < 0 else end
    parts = POINT.split(svg[start:end])
    points = POINT.findall(svg[start:end])
    if len(points) != len(texts):  # drawn as pixels
        return svg
    titled = [
        f"<use{attributes}><title>{in_html(text)}</title></use>"
        for attributes, text in zip(points, texts, strict=True)
    ]
    between = parts[::2]
    whole = "".join(a + b for a, b in zip(between, [*titled, ""], strict=True))
    return svg[:start] + whole + svg[end:]


def ink(salt: str) -> AbstractContextManager[None]:
    """Draw in the placeholder colour; ``salt`` keeps the names in one page apart."""
    parts: Any = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
    return rc_context(
        {
            **dict.fromkeys(parts, INK),
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": "medium",
            "legend.facecolor": "none",
            "font.size": 10,
            "svg.fonttype": "none",
            "svg.hashsalt": salt,
        }
    )


def table(frame: pd.DataFrame, formats: dict[str, str] | None = None) -> str:
    """A table with its index in front; numbers right-aligned, wide tables scroll."""
    formats = formats or {}
    head = "".join(f"<th scope='col'>{in_html(str(c))}</th>" for c in frame.columns)
    rows = []
    for index, row in frame.iterrows():
        cells = [
            f"<td>{in_html(format(value, formats.get(str(column), '')))}</td>"
            for column, value in row.items()
        ]
        rows.append(f"<tr><th scope='row'>{in_html(str(index))}</th>{''.join(cells)}</tr>")
    return (
        f"<div class='scroll' tabindex='0'><table><thead><tr><td></td>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def section(title: str, *parts: str, lead: str = "") -> str:
    """A titled section; parts are HTML."""
    name = anchor(title)
    lead = f"<p class='lead'>{lead}</p>" if lead else ""
    return f"<section id='{name}'><h2>{in_html(title)}</h2>{lead}{''.join(parts)}</section>"


def anchor(title: str) -> str:
    """The name by which a link finds a section."""
    return "".join(c if c.isalnum() else "-" for c in title.lower())


def contents(sections: Sequence[str]) -> str:
    """Links to sections, from their headings."""
    found = [HEADING.match(part) for part in sections]
    links = [f"<a href='#{f[1]}'>{f[2]}</a>" for f in found if f]
    return f"<nav aria-label='Contents'>{' '.join(links)}</nav>" if len(links) > 2 else ""


def items(sentences: Sequence[str], kind: str = "") -> str:
    """Sentences as a list; they are HTML already."""
    return f"<ul class='{kind}'>{''.join(f'<li>{s}</li>' for s in sentences)}</ul>"


def details(summary: str, *parts: str) -> str:
    """Something to unfold."""
    return f"<details><summary>{in_html(summary)}</summary>{''.join(parts)}</details>"


def facts_list(facts: Mapping[str, str]) -> str:
    """Names and values."""
    pairs = (f"<dt>{in_html(k)}</dt><dd>{in_html(str(v))}</dd>" for k, v in facts.items())
    return f"<dl>{''.join(pairs)}</dl>"


def page(title: str, subtitle: str, *sections: str) -> str:
    """The whole page."""
    style = files(__package__).joinpath("style.css").read_text(encoding="utf-8")
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        "<meta name='color-scheme' content='light dark'>"
        f"<title>{in_html(title)}</title><style>{style}</style></head>"
        f"<body><header><h1>{in_html(title)}</h1><p>{in_html(subtitle)}</p>"
        f"<p class='made'>manyviews {in_html(version('manyviews'))}, {date.today().isoformat()}</p>"
        f"</header>{contents(sections)}"
        f"<main>{''.join(sections)}</main></body></html>\n"
    )
