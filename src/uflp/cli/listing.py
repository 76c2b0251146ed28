"""`uflp list`."""

from __future__ import annotations

from typing import Annotated

import typer

from uflp.types import UsageError

LISTS = ("presets", "agents", "uncertainties", "rules", "simulators", "figures")


def list_names(
    what: Annotated[str, typer.Argument(help="one of " + ", ".join(LISTS))] = "",
) -> None:
    """Show the names that other commands take."""
    from uflp.experiments.agents import AGENTS
    from uflp.experiments.figures import FIGURES
    from uflp.experiments.presets import PRESETS
    from uflp.planning import RULES
    from uflp.registry import unknown
    from uflp.simulators import SIMULATORS
    from uflp.uncertainty import UNCERTAINTIES

    if what and what not in LISTS:
        raise UsageError(unknown("list", what, LISTS))
    tables = {
        "presets": {name: preset.summary for name, preset in PRESETS.items()},
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
