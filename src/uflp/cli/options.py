"""Options that several commands have in common."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from uflp.types import UsageError


def _finite(value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise UsageError(f"--stop-at-return must be a finite number, not {value}")
    return value


Preset = Annotated[str, typer.Argument(help="the experiment: see `uflp list presets`")]
MoreSettings = Annotated[
    list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="more settings, as with --set")
]
AgentName = Annotated[str | None, typer.Option("--agent", help="see `uflp list agents`")]
UncertaintyName = Annotated[
    str | None, typer.Option("--uncertainty", help="see `uflp list uncertainties`")
]
VariantName = Annotated[
    str | None,
    typer.Option("--variant", help="changes to the preset, see `uflp list variants`"),
]
Ray = Annotated[
    str | None,
    typer.Option(help="spread each run: local, auto (this machine's cluster), or HOST:PORT"),
]
Actors = Annotated[int | None, typer.Option(help="processes that collect  [default: 2]")]
Queries = Annotated[
    int | None, typer.Option("--queries", help="budget of simulator steps of a run")
]
StopAtReturn = Annotated[
    float | None,
    typer.Option(
        "--stop-at-return",
        help="stop a run once its mean return reaches this",
        callback=_finite,
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="train even where restores are seen to go wrong")
]
AsJson = Annotated[bool, typer.Option("--json", help="end with the outcome as one line of JSON")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="set any key, such as size=20; repeatable"),
]
Trust = Annotated[
    bool,
    typer.Option("--trust", help="use the code and addresses that the folder or file names"),
]
