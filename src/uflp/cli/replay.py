"""`uflp replay`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from uflp.cli.options import AsJson, Trust
from uflp.cli.words import tell_json
from uflp.types import UsageError

_FRAMES_A_SECOND = 60


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
    from uflp.experiments.replay import best_score
    from uflp.report.film import check_film, write_film

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
        print(_sentence(outcome))
    if as_json:
        tell_json(outcome)
    if not outcome["verified"]:
        raise typer.Exit(1)


def _sentence(outcome: dict[str, Any]) -> str:
    score, played = outcome["screen_score"], outcome["replayed_score"]
    if not outcome["verified"]:
        return f"not verified: {score:g} is claimed, and playing its actions gives {played:g}"
    where = f"; film in {outcome['gif']}" if outcome["gif"] else ""
    bug = " (above 100,000 by the treasure-room bug)" if outcome["treasure_room_bug"] else ""
    return f"verified: {score:g}{bug} after {outcome['frames']:,} frames from the start{where}"
