"""A run in Weights & Biases: settings as its config, one point of each metric an evaluation.

`python examples/wandb_logging.py [PRESET]` needs `pip install wandb`; with `WANDB_MODE=offline` the
run stays on this machine.
"""

import math
import sys

import uflp

try:
    import wandb
except ImportError:
    sys.exit("this example needs Weights & Biases: pip install wandb")


def main(preset: str = "deep-sea", **settings: object) -> None:
    """Train, and log as the run goes on."""
    with wandb.init(project="uflp", name=f"uflp {preset}") as run:

        def log(row: dict) -> None:
            known = {key: float(value) for key, value in row.items() if math.isfinite(value)}
            run.log(known, step=int(row["queries"]))

        result = uflp.train(preset, callback=log, **settings)
        run.config.update(result.settings.names() | result.settings.values())
        run.summary.update({f"final/{key}": value for key, value in result.summary.items()})


if __name__ == "__main__":
    main(*sys.argv[1:2], size=10, queries=3000, stop_at_return=0.95)
