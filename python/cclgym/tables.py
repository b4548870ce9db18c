"""Results in one line, and as tables for notebooks."""

from __future__ import annotations

import html
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

SHOWN = 20
"""Rows of a table in a notebook; a line below says how many there are."""


def number_text(value: Any) -> str:
    """A cell's text: floats with six digits, and lists with commas."""
    if isinstance(value, list):
        return ", ".join(map(number_text, value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def html_table(names: Sequence[str], rows: Iterable[Sequence[Any]], count: int) -> str:
    """The first rows of a table of `count` rows."""
    def line(tag: str, cells: Iterable[Any]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(number_text(cell))}</{tag}>" for cell in cells) + "</tr>"

    shown = [line("td", row) for row in itertools.islice(rows, SHOWN)]
    more = f"<p>{count} rows, of which {SHOWN} are shown</p>" if count > SHOWN else ""
    return f"<table><thead>{line('th', names)}</thead><tbody>{''.join(shown)}</tbody></table>{more}"
