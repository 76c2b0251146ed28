"""Commands on runs that were made: `evaluate`, `export`, `replay` and `report`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from uflp.cli.common import AsJson, Trust, print_json, print_skipped
from uflp.types import UsageError

_FRAMES_A_SECOND = 60
_RUN = typer.Argument(metavar="RUN", help="a run folder, or what `uflp export` wrote")


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
        with closing(policy.drawing_simulator()) as drawing:
            policy.evaluate(1, seed, recorder, drawing)
        recorder.write(video)
    recorded = DemonstrationRecorder(policy.simulator())
    result = policy.evaluate(episodes, seed, simulator=recorded)
    if demonstrations is not None:
        recorded.write(demonstrations)
    played = "1 episode" if result.episodes == 1 else f"{result.episodes} episodes"
    print(
        f"{policy.settings.preset}, {policy.settings.agent}, {policy.queries:,} queries: "
        f"return {result.mean:.3f} ± {result.std:.3f} over {played}"
    )
    for path, what in ((video, "film"), (demonstrations, "demonstrations")):
        if path is not None:
            print(f"{what} in {path}")
    if as_json:
        names = policy.settings.names()
        film = None if video is None else str(video)
        print_json({**names, "queries": policy.queries, **result._asdict(), "video": film})


def export(
    run: Annotated[Path, _RUN],
    out: Annotated[
        str, typer.Argument(metavar="OUT", help="the file to write, or a folder that ends in /")
    ],
    history: Annotated[
        bool, typer.Option("--history", help="with the snapshots of the run; only into a folder")
    ] = False,
    trust: Trust = False,
) -> None:
    """Write a trained agent and its settings into one file, or into a folder for a model hub.

    A file holds what `uflp evaluate` needs. A folder holds the same as safetensors and JSON, and a
    model card; with `--history` also what `uflp train --history-from` needs.

    Example: `uflp export runs/bonus/seed-0 diver.state`, `uflp export runs/bonus/seed-0 diver/`
    """
    from uflp.report.model_card import export as write

    print(write(run, out, history=history, trust=trust))


def replay(
    run: Annotated[Path, typer.Argument(help="a run folder of an Atari game")],
    out: Annotated[Path | None, typer.Option(help="film to write  [default: RUN/best.gif]")] = None,
    every: Annotated[int, typer.Option(help="frames of the game between two of the film")] = 8,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Verify the best screen score of a run by playing its own actions from the start.

    Ends with 1 if they give another score.
    """
    from uflp.experiments.trained import best_score
    from uflp.report.video import check_film, write_film

    if every < 1:
        raise UsageError(f"--every must be at least 1, not {every}")
    best = best_score(run, trust=trust)
    gif = out or run / "best.gif"
    check_film(gif)
    scores: list[float] = [0.0]
    screens = []
    for number, (score, screen) in enumerate(best.play()):
        scores.append(score)
        if number % every == 0 or number == len(best.actions) - 1:
            screens.append(screen)
    outcome: dict[str, Any] = {
        "run_dir": str(run),
        "screen_score": best.screen_score,
        "replayed_score": scores[-1],
        "frames": len(scores) - 1,
        "verified": scores[-1] == best.screen_score and len(scores) - 1 == len(best.actions),
        "treasure_room_bug": best.simulator.by_bug(best.screen_score),
        "gif": None,
    }
    try:
        if screens:
            write_film(gif, screens, every / _FRAMES_A_SECOND)
            outcome["gif"] = str(gif)
    finally:  # The verdict stands, whatever becomes of the film.
        print(_replay_sentence(outcome))
    if as_json:
        print_json(outcome)
    if not outcome["verified"]:
        raise typer.Exit(1)


def _replay_sentence(outcome: dict[str, Any]) -> str:
    score, played = outcome["screen_score"], outcome["replayed_score"]
    where = f"; film in {outcome['gif']}" if outcome["gif"] else ""
    if not outcome["verified"]:
        return f"not verified: {score:g} is claimed, and its actions give {played:g}{where}"
    bug = " (above 100,000 by the treasure-room bug)" if outcome["treasure_room_bug"] else ""
    return f"verified: {score:g}{bug} after {outcome['frames']:,} frames from the start{where}"


def report(
    directories: Annotated[list[Path], typer.Argument(help="run folders, or folders of them")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="file to write, .html or .md  [default: report.html in the first folder]"
        ),
    ] = None,
) -> None:
    """Sum up runs on one page: a verdict, learning curves, a table, and where the runs have been.

    The page needs nothing beside it, so it can be mailed or put on a server as it is. With
    `--out FILE.md` it is Markdown with pictures beside it. What cannot be read is left out, and
    named; if nothing is left to draw, the exit code is 2.

    Example: `uflp report runs --out report.html`
    """
    from uflp.report import write_report

    written = write_report(directories, out)
    print_skipped(written.skipped)
    print(written.path)
