"""`uflp check`."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from uflp.cli.common import AsJson, print_json
from uflp.types import UsageError

_MOST_STEPS = 10_000_000


def check(
    simulator: Annotated[
        str,
        typer.Argument(
            help="gym:ID, dmc:DOMAIN-TASK, gymnax:ID, minigrid:ID, bsuite:ID, atari/GAME, "
            "module:factory, or a name"
        ),
    ],
    steps: Annotated[int, typer.Option(help="steps of each course that is played")] = 200,
    seed: Annotated[int, typer.Option(help="of resets and actions")] = 0,
    strategy: Annotated[
        str | None, typer.Option(help="auto, native, attributes, copy or replay")
    ] = None,
    tolerance: Annotated[
        float, typer.Option(help="how far numbers may lie apart and count as equal; 0 for none")
    ] = 1e-6,
    as_json: AsJson = False,
) -> None:
    """Find out whether an environment can be trusted to go back.

    Plays it, saves and restores at several points, replays, and compares observations, rewards,
    ends and randomness. The grade says whether they are equal to the bit, equal within a
    tolerance, or diverge, and after how many steps. Ends with 0 if it is faithful, and with 1 if it
    is not or cannot be saved at all.

    Example: `uflp check gym:CartPole-v1`
    """
    from uflp.simulators.fidelity import judge
    from uflp.simulators.lookup import named

    if steps < 4:
        raise UsageError(f"--steps must be at least 4, not {steps}")
    if steps > _MOST_STEPS:
        raise UsageError(f"--steps must be at most {_MOST_STEPS:,}, not {steps}")
    if seed < 0:
        raise UsageError(f"--seed must not be negative, not {seed}")
    settings = named(simulator, **({} if strategy is None else {"strategy": strategy}))
    verdict = judge(settings, steps=steps, seed=seed, tolerance=tolerance)
    print(f"{simulator}: {verdict.outcome}")
    for line in verdict.lines(steps):
        print(f"  {line}")
    if as_json:
        findings = [finding._asdict() for finding in verdict.findings]
        print_json({"simulator": simulator, **dataclasses.asdict(verdict), "findings": findings})
    if verdict.outcome != "faithful":
        raise typer.Exit(1)
