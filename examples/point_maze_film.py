"""A film of PointMaze, seen from above: one episode of an agent that `uflp figure point-maze` made.

`python examples/point_maze_film.py runs/figures/point-maze-laptop/runs/sac-local/seed-0 film.gif`
(with `MUJOCO_GL=egl` where there is no screen). The goal is the red ball. Every third state is
shown, at half its speed. Needs `pip install 'uflp[robotics]'`.
"""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import uflp
from uflp.report.video import write_video

ABOVE = {"distance": 12.5, "elevation": -90.0, "azimuth": 90.0, "lookat": np.zeros(3)}
SIDE = 240
PERIOD = 3
MILLISECONDS = 60


def film(run: str, path: Path, seed: int = 0, *, trust: bool = False) -> float:
    """Write a film of an episode, and return the episode's return."""
    images: list[Image.Image] = []
    steps = 0

    def watch(simulator: Any) -> None:
        nonlocal steps
        if steps % PERIOD == 0:
            image = Image.fromarray(simulator.render()).resize((SIDE, SIDE))
            images.append(image.quantize(32, Image.Quantize.FASTOCTREE))
        steps += 1

    policy = uflp.load(run, trust=trust)
    with closing(policy.drawing_simulator()) as simulator:
        simulator.unwrapped.point_env.mujoco_renderer.default_cam_config = ABOVE
        outcome = policy.evaluate(1, seed, watch, simulator)
    write_video(path, images, MILLISECONDS)
    return outcome.mean


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", help="a run folder")
    parser.add_argument("film", type=Path, help="the file to write, such as film.gif")
    parser.add_argument("--seed", type=int, default=0, help="of the episode")
    parser.add_argument("--trust", action="store_true", help="the run is of somebody you trust")
    asked = parser.parse_args()
    outcome = film(asked.run, asked.film, asked.seed, trust=asked.trust)
    print(f"return {outcome:.0f}, in {asked.film}")
