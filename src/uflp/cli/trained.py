"""`uflp evaluate` and `uflp export`: what to do with an agent once it is trained."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from uflp.cli.options import AsJson, Trust
from uflp.cli.words import tell_json

_RUN = typer.Argument(metavar="RUN", help="a run folder, or a file that `uflp export` wrote")


def evaluate(
    run: Annotated[Path, _RUN],
    episodes: Annotated[int, typer.Option(help="episodes to play")] = 10,
    seed: Annotated[int, typer.Option(help="of the simulator's randomness")] = 0,
    video: Annotated[
        Path | None, typer.Option(help="film the first episode: a .gif, .webp or .png file")
    ] = None,
    demonstrations: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="write what was played, for `uflp train` to begin with"),
    ] = None,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Play episodes with a trained agent: greedily, without bonus or chance.

    Of a run that is not finished, the agent of the newest checkpoint plays.

    Example: `uflp evaluate runs/bonus/seed-0 --episodes 20 --video episode.gif`
    """
    from uflp.experiments.trained import load
    from uflp.planning import DemonstrationRecorder
    from uflp.report.video import Recorder, check_video

    if video is not None:
        check_video(video)
    policy = load(run, trust=trust)
    if video is not None:
        recorder = Recorder()
        policy.evaluate(1, seed, recorder)
        recorder.write(video)
    recorded = DemonstrationRecorder(policy.simulator())
    result = policy.evaluate(episodes, seed, simulator=recorded)
    if demonstrations is not None:
        recorded.write(demonstrations)
    print(
        f"{policy.settings.preset}, {policy.settings.agent}, {policy.queries:,} queries: "
        f"return {result.mean:.3f} ± {result.std:.3f} over {result.episodes} episodes"
    )
    if as_json:
        names = policy.settings.names()
        tell_json({**names, "queries": policy.queries, **result._asdict()})


def export(
    run: Annotated[Path, _RUN],
    out: Annotated[Path, typer.Argument(metavar="FILE", help="the file to write")],
    trust: Trust = False,
) -> None:
    """Write a trained agent and its settings into one file, without replay and history.

    Example: `uflp export runs/bonus/seed-0 diver.state`
    """
    from uflp.experiments.trained import export as write

    write(run, out, trust=trust)
    print(out)
