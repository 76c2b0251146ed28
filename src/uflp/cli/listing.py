"""`uflp list`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from uflp.types import UsageError

LISTS = ("presets", "variants", "agents", "uncertainties", "rules", "simulators", "figures")


def list_names(
    what: Annotated[str, typer.Argument(help="one of " + ", ".join(LISTS))] = "",
) -> None:
    """Show the names that other commands take."""
    from uflp.collection import RULES
    from uflp.experiments.agents import AGENTS
    from uflp.experiments.figures import FIGURES
    from uflp.experiments.presets import PRESETS
    from uflp.registry import unknown
    from uflp.simulators import SIMULATORS
    from uflp.uncertainty import UNCERTAINTIES

    if what and what not in LISTS:
        raise UsageError(unknown("list", what, LISTS))
    tables = {
        "presets": {name: preset.summary for name, preset in PRESETS.items()},
        "variants": _variants(PRESETS),
        "agents": {name: agent.summary for name, agent in AGENTS.items()},
        "uncertainties": {name: UNCERTAINTIES.summary(name) for name in UNCERTAINTIES},
        "rules": {name: RULES.summary(name) for name in RULES},
        "simulators": {name: SIMULATORS.summary(name) for name in SIMULATORS},
        "figures": {name: figure.title for name, figure in FIGURES.items()},
    }
    for title in [what] if what else LISTS:
        print(title)
        width = max(map(len, tables[title]))
        for name, summary in tables[title].items():
            print(f"  {name:<{width}}  {summary}")


def _variants(presets: Mapping[str, Any]) -> dict[str, str]:
    """Returns what each variant changes, a line for each kind of run."""
    lines = {}
    for preset_name, preset in presets.items():
        for name, variant in preset.variants.items():
            lines[f"{preset_name} --variant {name}"] = variant.summary
            for rule in variant.rules:
                access = f", {rule.access} access" if rule.access else ""
                who = ", ".join((*rule.agents, *rule.uncertainties)) or "all agents"
                changed = ", ".join(f"{key}={value}" for key, value in rule.values.items())
                lines[f"  {who}{access}"] = changed
    return lines
