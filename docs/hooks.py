"""What MkDocs cannot do by itself: pages from the code and from files outside of `docs/`.

- Results, examples, CHANGELOG and CONTRIBUTING stay where they are in the checkout and are part of
  the site. Links between files of the checkout are followed in both.
- `<!-- generated: NAME -->` in a page is replaced by what the code says.
"""

from __future__ import annotations

import inspect
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import typer.main
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from uflp.cli import app
from uflp.cli.listing import setting_rows
from uflp.experiments.figures import FIGURES
from uflp.report.results import Results, settings_text

ROOT = Path(__file__).parent.parent
OUTSIDE = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "examples/*.py",
    "results/*.csv",
    "results/*.json",
    "results/*.md",
    "results/*/*.csv",
    "results/*/*.png",
    "results/*/provenance.json",
    "results/deep-sea-scaling/*.md",
)
"""Files outside of `docs/` that are part of the site, under the paths that they have there."""

_MARK = re.compile(r"^<!-- generated: (\w+) -->$", re.MULTILINE)
_LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)]*)?\))")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files that lie outside of `docs/`."""
    for path in (path for pattern in OUTSIDE for path in sorted(ROOT.glob(pattern))):
        name = path.relative_to(ROOT).as_posix()
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put in what is generated, and let links lead to where files are on the site."""
    text = _MARK.sub(lambda found: GENERATED[found[1]](), markdown)

    def led(found: re.Match[str]) -> str:
        return found[1] + site_link(page.file.src_uri, found[2]) + found[3]

    return _LINK.sub(led, text)


def site_link(page: str, link: str) -> str:
    """Return a link between two files of the checkout as it is on the site.

    Args:
        page: path of the page on the site, which is `docs/` for all that is not added above.
        link: from the page's place in the checkout.
    """
    if ":" in link:
        return link
    here = page if _is_outside(page) else f"docs/{page}"
    there = posixpath.normpath(posixpath.join(posixpath.dirname(here), link))
    if there.startswith("docs/"):
        there = there.removeprefix("docs/")
    elif not _is_outside(there):
        return link
    return posixpath.relpath(there, posixpath.dirname(page) or ".")


def _is_outside(path: str) -> bool:
    return any(Path(path).match(pattern) for pattern in OUTSIDE if "/" in pattern) or (
        path in OUTSIDE
    )


def _settings() -> str:
    """Return a table of every key of `--set`, by what has it."""
    tables: dict[str, list[Sequence[str]]] = {}
    for key, kind, default, owners, meaning in setting_rows():
        tables.setdefault(owners, []).append((f"`{key}`", meaning, f"`{default}`", kind))
    parts = []
    for owners, rows in tables.items():
        title = "Every run" if owners == "every run" else f"Of {_codes(owners)}"
        parts += [f"## {title}", _table(("key", "meaning", "default", "type"), rows)]
    return "\n\n".join(parts)


def _codes(names: str) -> str:
    return ", ".join(f"`{name}`" for name in names.split(", "))


def _commands() -> str:
    """Return every command with its arguments and options, from the parser itself."""
    group: Any = typer.main.get_command(app)
    return "\n\n".join(
        part for name, command in group.commands.items() for part in _command(name, command)
    )


def _command(name: str, command: Any) -> Iterator[str]:
    yield f"## uflp {name}"
    yield inspect.cleandoc((command.help or "").replace("\f", ""))
    rows = []
    for parameter in command.params:
        value = parameter.metavar or parameter.name.rstrip("_").upper()
        if parameter.param_type_name == "option":
            names = [*parameter.opts, *parameter.secondary_opts]
            value = "" if parameter.is_flag else f" {value}"
            shown = ", ".join(f"`{one}{value}`" for one in names)
        else:
            shown = f"`{value}`"
        rows.append((shown, getattr(parameter, "help", None) or ""))
    yield _table(("argument or option", "meaning"), rows)


def _figures() -> str:
    """Return every figure with runs: its picture, its settings, its numbers."""
    results = Results(ROOT)
    parts = []
    for name, plan in FIGURES.items():
        runs = results.select(name, {})
        folder = f"../results/{name}"
        if not runs or not (ROOT / "results" / name / f"{name}.png").exists():
            continue
        parts += [
            f"## {plan.title}",
            f"![{plan.title}]({folder}/{name}.png)",
            f"`uflp figure {name}`: {settings_text(name, runs, results)}. "
            f"[CSV]({folder}/{name}.csv), [how it was made]({folder}/provenance.json).",
        ]
    return "\n\n".join(parts)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *([_cell(one) for one in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split()) or "–"


GENERATED: dict[str, Callable[[], str]] = {
    "settings": _settings,
    "commands": _commands,
    "figures": _figures,
}
"""What a mark in a page stands for."""
