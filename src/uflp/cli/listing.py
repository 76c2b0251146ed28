"""`uflp list`."""

from __future__ import annotations

import dataclasses
import inspect
import re
import typing
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from uflp.cli.common import print_table
from uflp.types import UsageError

LISTS = (
    "presets",
    "variants",
    "agents",
    "uncertainties",
    "rules",
    "simulators",
    "figures",
    "settings",
)


def list_names(
    what: Annotated[
        str,
        typer.Argument(help="one of " + ", ".join(LISTS), autocompletion=lambda: list(LISTS)),
    ] = "",
) -> None:
    """Show the names that other commands take, and with `settings` every key of `--set`."""
    from uflp.registry import unknown

    if what and what not in LISTS:
        raise UsageError(unknown("list", what, LISTS))
    if what == "settings":
        print_table(("key", "type", "default", "of", "meaning"), setting_rows(), title=what)
        return
    for title, names in _names().items():
        if what in ("", title):
            print_table(("", ""), [list(pair) for pair in names.items()], title=title)
    if not what:
        print("Every key of --set: uflp list settings")


def _names() -> dict[str, dict[str, str]]:
    """Return one line on each name, by list."""
    from uflp.experiments.agents import AGENTS
    from uflp.experiments.figures import FIGURES
    from uflp.experiments.presets import PRESETS
    from uflp.planning import RULES
    from uflp.simulators import SIMULATORS
    from uflp.uncertainty import UNCERTAINTIES

    return {
        "presets": {name: preset.summary for name, preset in PRESETS.items()},
        "variants": _variants(PRESETS),
        "agents": {name: agent.summary for name, agent in AGENTS.items()},
        "uncertainties": {name: UNCERTAINTIES.summary(name) for name in UNCERTAINTIES},
        "rules": {name: RULES.summary(name) for name in RULES},
        "simulators": {name: SIMULATORS.summary(name) for name in SIMULATORS},
        "figures": {name: figure.title for name, figure in FIGURES.items()},
    }


def _variants(presets: Mapping[str, Any]) -> dict[str, str]:
    """Return what each variant changes, a line for each kind of run."""
    lines = {}
    for preset_name, preset in presets.items():
        for name, variant in preset.variants.items():
            lines[f"{preset_name} --variant {name}"] = variant.summary
            for case in variant.cases:
                access = f", {case.access} access" if case.access else ""
                who = ", ".join((*case.agents, *case.uncertainties)) or "all agents"
                changed = ", ".join(f"{key}={value}" for key, value in case.values.items())
                lines[f"  {who}{access}"] = changed
    return lines


def setting_rows() -> list[list[str]]:
    """Return key, type, default, owners and meaning of every setting."""
    from uflp.experiments.resolve import type_text

    owners: dict[tuple[str, str, str, str], list[str]] = {}
    parts = list(_parts())
    known = {part.__name__: meanings_of(part) for _, part in parts}
    for owner, part in parts:
        hints = typing.get_type_hints(part)
        for field in dataclasses.fields(part):
            key = field.name
            meaning = known[part.__name__].get(key, "")
            reference = re.match(r"see `(\w+)`", meaning)  # To another settings class.
            if reference and key in known.get(reference[1], {}):
                meaning = known[reference[1]][key].rstrip(".") + meaning[reference.end() :]
            row = (key, type_text(hints[key]), _default(field), meaning)
            owners.setdefault(row, []).append(owner)
    return [
        [key, kind, default, ", ".join(of), meaning]
        for (key, kind, default, meaning), of in owners.items()
    ]


def _parts() -> Iterator[tuple[str, Any]]:
    """Yield every settings class, with the name of what has it."""
    from uflp.agents import LEARNERS
    from uflp.planning import RULES
    from uflp.simulators import SIMULATORS
    from uflp.training.settings import LOOP_PARTS
    from uflp.uncertainty import UNCERTAINTIES

    yield from (("every run", part) for part in LOOP_PARTS.values())
    for registry in (SIMULATORS, LEARNERS, UNCERTAINTIES, RULES):
        yield from ((name, registry[name]) for name in registry)


def meanings_of(part: type) -> dict[str, str]:
    """Return the meaning of each attribute of a class, from the docstrings of it and its bases."""
    meanings: dict[str, str] = {}
    for base in reversed(part.__mro__):
        text = inspect.cleandoc(base.__doc__ or "")
        _, _, attributes = text.partition("\nAttributes:\n")
        for match in re.finditer(r"^    (\w+): (.*(?:\n {5,}.*)*)", attributes, re.MULTILINE):
            meanings[match[1]] = " ".join(match[2].split())
    return meanings


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default is not dataclasses.MISSING:
        value = field.default
    elif field.default_factory is not dataclasses.MISSING:
        value = field.default_factory()
    else:
        return "needed"
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
