"""Elements of a page that its sections share."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape


def table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a table that scrolls by itself; the first column names the rows."""
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def embedded(data: bytes, kind: str) -> str:
    """Returns a picture, `png` or `gif`, as an address that holds it."""
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
