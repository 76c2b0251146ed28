"""A run in MLflow: settings as parameters, one point of each metric an evaluation.

`python examples/mlflow_logging.py [PRESET]` writes to the tracking store that MLflow is set to, and
needs `pip install mlflow`.
"""

import math
import sys

import uflp

try:
    import mlflow
except ImportError:
    sys.exit("this example needs MLflow: pip install mlflow")


def log(row: dict) -> None:
    """Log a row of metrics; a value that is not known yet is left out."""
    known = {key: float(value) for key, value in row.items() if math.isfinite(value)}
    mlflow.log_metrics(known, step=int(row["queries"]))


def main(preset: str = "deep-sea", **settings: object) -> None:
    """Train, and log as the run goes on."""
    with mlflow.start_run(run_name=f"uflp {preset}"):
        result = uflp.train(preset, callback=log, **settings)
        values = result.settings.names() | result.settings.values()
        mlflow.log_params({key: str(value)[:500] for key, value in values.items()})
        mlflow.log_dict(result.summary, "summary.json")


if __name__ == "__main__":
    main(*sys.argv[1:2], size=10, queries=3000, stop_at_return=0.95)
