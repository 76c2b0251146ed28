"""`uflp check`."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

import typer

from uflp.cli.options import AsJson
from uflp.cli.words import tell_json
from uflp.types import UsageError

_MOST_STEPS = 10_000_000


def check(
    simulator: Annotated[
        str,
        typer.Argument(
            help="gym:ID, gymnax:ID, minigrid:ID, bsuite:ID, atari/GAME, module:factory, or a name"
        ),
    ],
    steps: Annotated[int, typer.Option(help="steps of each course that is played")] = 200,
    seed: Annotated[int, typer.Option(help="of resets and actions")] = 0,
    strategy: Annotated[
        str | None, typer.Option(help="auto, native, attributes, copy or replay")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find out whether an environment can be trusted to go back.

    Plays it, saves and restores at several points, replays, and compares observations, rewards,
    ends and randomness to the bit. Ends with 0 if it is faithful, and with 1 if it is not or cannot
    be saved at all.

    Example: `uflp check gym:CartPole-v1`
    """
    from uflp.simulators.naming import named
    from uflp.simulators.verdict import judge

    if steps < 4:
        raise UsageError(f"--steps must be at least 4, not {steps}")
    if steps > _MOST_STEPS:
        raise UsageError(f"--steps must be at most {_MOST_STEPS:,}, not {steps}")
    if seed < 0:
        raise UsageError(f"--seed must not be negative, not {seed}")
    settings = named(simulator, **({} if strategy is None else {"strategy": strategy}))
    verdict = judge(settings, steps=steps, seed=seed)
    print(f"{simulator}: {verdict.outcome}")
    for line in _lines(verdict, steps):
        print(f"  {line}")
    if as_json:
        findings = [finding._asdict() for finding in verdict.findings]
        tell_json({"simulator": simulator, **dataclasses.asdict(verdict), "findings": findings})
    if verdict.outcome != "faithful":
        raise typer.Exit(1)


def _lines(verdict: Any, steps: int) -> list[str]:
    from uflp.simulators.contract import SPACE

    if verdict.outcome == "refused":
        return [verdict.reason]
    size = f"{verdict.nbytes:,} bytes a snapshot" if verdict.nbytes else "copies in this process"
    lines = [f"saved by strategy: {verdict.strategy}; {size}"]
    if verdict.outcome == "faithful":
        return [*lines, f"every promise was kept over courses of {steps} steps"]
    lines += [f"broken: {promise}: {detail}" for promise, detail in verdict.findings]
    if verdict.reason:
        lines.append(f"why: {verdict.reason}")
    if {promise for promise, _ in verdict.findings} == {SPACE}:
        return [*lines, "it goes back, but cells and networks are scaled by bounds that are wrong"]
    return [*lines, "do not restart from its snapshots; another --strategy may be faithful"]
