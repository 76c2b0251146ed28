"""The headline in a few minutes: a plain double DQN on Deep Sea 50, with and without going back.

Trains three seeds with local access, until solved, and three with online access for the same
budget; then draws both. `make demo` runs this.
"""

import shutil
from pathlib import Path

from uflp.experiments.resolve import resolve
from uflp.experiments.seeds import train_seeds
from uflp.report import write_report

SIZE, BUDGET, SEEDS = 50, 60_000, 3
OUT = Path("runs") / "demo"


def main() -> None:
    """Trains, draws, and says what the picture shows."""
    shutil.rmtree(OUT, ignore_errors=True)
    runs = {access: train(access) for access in ("local", "online")}
    write_report([OUT], OUT / "report.md")
    solved = sum(run["queries_to_target"] is not None for run in runs["local"])
    rewarded = sum(run["positive_rewards"] for run in runs["online"])
    print(f"\n{OUT / 'report-deep-sea.png'}")
    print(
        f"Deep Sea {SIZE}, double DQN: with local access {solved} of {SEEDS} seeds solve it within "
        f"{BUDGET:,} queries; with online access all {SEEDS} together see {rewarded} rewards."
    )


def train(access: str) -> list[dict]:
    """Trains all seeds with one kind of access and returns their summaries."""
    settings = resolve("deep-sea", access=access, overrides={"size": SIZE, "queries": BUDGET})
    print(f"Deep Sea {SIZE}, {access} access, {SEEDS} seeds of up to {BUDGET:,} queries each")
    summaries = []
    for summary in train_seeds(settings, range(SEEDS), OUT / access, stop_at_return=0.95):
        reached = summary["queries_to_target"]
        outcome = f"solved after {reached:,} queries" if reached else "not solved"
        print(f"  seed {summary['seed']}: {outcome} ({summary['wall_seconds']:.0f} s)", flush=True)
        summaries.append(summary)
    return summaries


if __name__ == "__main__":
    main()
