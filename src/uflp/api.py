"""The library from Python: what `import uflp` offers.

Each function is what a command of `uflp` does, and takes Python objects where the command takes
names.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import gymnasium
import numpy as np

from uflp.agents import LEARNERS
from uflp.distributed.settings import ClusterSettings
from uflp.distributed.train import trainer
from uflp.experiments.comparison import comparison_jobs
from uflp.experiments.jobs import Job, at_work, require_faithful, run_job
from uflp.experiments.recorded import extended, recorded, recorded_cluster
from uflp.experiments.resolve import resolve
from uflp.experiments.seeds import require_seeds
from uflp.experiments.sweep import grid_jobs
from uflp.experiments.trained import load as load_policy
from uflp.planning import RULES
from uflp.registry import Registry, unknown
from uflp.report import write_report
from uflp.report.comparisons import comparison_of, cost_sentence
from uflp.report.model_card import export as write_exported
from uflp.report.rliable import scores_of
from uflp.report.sweeps import Ranking, write_ranking
from uflp.runs.folder import RunFolder
from uflp.runs.outcome import Outcome
from uflp.runs.policy import Policy
from uflp.simulators import SIMULATORS
from uflp.simulators.costs import measure
from uflp.types import UsageError
from uflp.uncertainty import UNCERTAINTIES
from uflp.user_code import name_of

Callback = Callable[[dict[str, Any]], Any]
Kind = Literal["agent", "uncertainty", "rule", "simulator"]

_REGISTRIES: Mapping[str, Registry] = {
    "agent": LEARNERS,
    "uncertainty": UNCERTAINTIES,
    "rule": RULES,
    "simulator": SIMULATORS,
}


class Result(Outcome):
    """Outcome of a run.

    Attributes:
        settings: what decided it.
        summary: its outcome, as in `summary.json`.
        metrics: one array a column of `metrics.csv`.
        run_dir: its folder, None where nothing was written.
        policy: the trained agent.
    """

    def report(self, path: str | Path = "report.html") -> Path:
        """Write a page about the run, as `uflp report` does; return where it is.

        A run without a folder has no pictures of exploration.

        Args:
            path: the page, `.html` or `.md`.
        """
        if self.run_dir is not None:
            return write_report([self.run_dir], Path(path)).path
        with tempfile.TemporaryDirectory() as below:
            with RunFolder(Path(below) / "run", self.settings) as folder:
                folder.rewrite(self.rows)
                folder.finish(self.summary)
            return write_report([folder.path], Path(path)).path


def train(
    preset: Any,
    *,
    agent: Any = None,
    uncertainty: Any = None,
    rule: Any = None,
    access: str = "local",
    variant: str | None = None,
    seed: int = 0,
    seeds: int | None = None,
    out: str | Path | None = None,
    stop_at_return: float | None = None,
    callback: Callback | None = None,
    checkpoint_seconds: float = 600.0,
    keep_checkpoint: bool = False,
    history_from: str | Path | None = None,
    demonstrations: str | Path | None = None,
    init_from: str | Path | None = None,
    ray: str | None = None,
    actors: int = 2,
    force: bool = False,
    **settings: Any,
) -> Any:
    """Train an agent; the same as `uflp train` on the command line.

    Examples:
        >>> result = uflp.train("deep-sea", size=20, seed=0, stop_at_return=0.95)
        >>> result.summary["queries_to_target"]
        >>> result.policy.act(observation)

    Args:
        preset: the experiment, such as `deep-sea` (`uflp list presets` names them all), a simulator
            such as `gym:MountainCar-v0`, or an environment of your own: its class, a function that
            makes one, or one that `gymnasium.make` has made.
        agent: such as `ddqn` or `ddqn-bonus`, or settings of an agent of your own; the preset's own
            if None.
        uncertainty: such as `covariance` or `counts`, or settings of one of your own; what preset
            and agent suggest if None.
        rule: which saved states restarts go to, such as `go-explore`, or settings of a rule of your
            own; None means the paper's.
        access: `local`, which restarts from saved states, or `online`, which never does.
        variant: a named set of changes to the preset, such as `tuned`; None changes nothing.
        seed: of all randomness; equal seeds give equal numbers.
        seeds: trains this many seeds from `seed` on; None trains `seed` alone.
        out: the run folder to write; None writes nothing. With `seeds`, a folder of run folders.
        stop_at_return: ends the run at the first evaluation whose mean return reaches it.
        callback: called with a row of metrics after each evaluation; a true answer ends the run.
        checkpoint_seconds: wall-clock time from one checkpoint in the run folder to the next.
        keep_checkpoint: leaves a checkpoint of the end in the run folder, from which
            `uflp.resume(out, queries=...)` goes on with a larger budget.
        history_from: folder of a run whose history this one begins with.
        demonstrations: file of episodes that the first rollouts play.
        init_from: folder of a run, or an exported agent, whose agent this run begins with.
        ray: spreads the run over processes: `local`, `auto` or an address; see docs/clusters.md.
        actors: how many of them collect; only with `ray`.
        force: trains even where the simulator returns what it must not, or does not go back to
            where it was saved.
        **settings: any key of the preset, such as `size=20` or `p_init=0.2`.

    Returns:
        A `Result`; with `seeds`, a list of them.
    """
    files = {
        "history_from": history_from,
        "demonstrations": demonstrations,
        "init_from": init_from,
    }
    # Whole paths, so that the record of the run holds wherever it is read.
    settings |= {key: str(Path(path).absolute()) for key, path in files.items() if path is not None}
    names, settings = _names_and_settings(agent, uncertainty, rule, settings)
    resolved = resolve(
        _preset_name(preset),
        **names,
        access=access,
        variant=variant,
        seed=seed,
        overrides=settings,
    )
    if not force:
        require_faithful([resolved])
    folder = None if out is None else Path(out)
    cluster = None if ray is None else ClusterSettings(ray=ray, actors=actors)
    options: dict[str, Any] = {
        "stop_at_return": stop_at_return,
        "callback": callback,
        "checkpoint_seconds": checkpoint_seconds,
        "keep_checkpoint": keep_checkpoint,
    }
    if seeds is None:
        return Result(**vars(trainer(cluster)(resolved, out=folder, **options)))
    require_seeds(seeds)
    results = []
    for one in range(seed, seed + seeds):
        below = None if folder is None else folder / f"seed-{one}"
        outcome = trainer(cluster)(dataclasses.replace(resolved, seed=one), out=below, **options)
        results.append(Result(**vars(outcome)))
    return results


class Compared:
    """Local against online access, over several seeds.

    Attributes:
        verdict: one sentence: whether local access found more, learned more, or neither.
        values: the numbers behind it, as `uflp compare --json` prints them.
        run_dir: folder of the runs; None where it lives only as long as this object.
    """

    def __init__(self, jobs: Sequence[Job], out: Path | None, kept: Any):
        self._jobs = jobs
        self._kept = kept
        self.run_dir = out
        self._comparison = comparison_of([job.folder for job in jobs])
        self.verdict = self._comparison.sentence
        self.values = self._comparison.values()

    @functools.cached_property
    def costs(self) -> str:
        """One sentence on the time and memory that saves and restores took, measured when asked."""
        simulator = self._jobs[0].settings.simulator.make(0)
        return cost_sentence(self._comparison.local, measure(simulator))

    def __repr__(self) -> str:
        found = self._comparison
        texts = (found.sentence, found.found, found.advice, self.costs)
        return "\n".join(text for text in texts if text)

    def report(self, path: str | Path = "report.html") -> Path:
        """Write a page with curves and pictures, as `uflp report` does; return where it is."""
        folders = [job.folder for job in self._jobs]
        return write_report(folders, Path(path), costs=self.costs).path


def compare(
    preset: Any,
    *,
    agent: Any = None,
    uncertainty: Any = None,
    rule: Any = None,
    variant: str | None = None,
    seeds: int = 5,
    out: str | Path | None = None,
    stop_at_return: float | None = None,
    force: bool = False,
    **settings: Any,
) -> Compared:
    """Train with local and with online access, and compare; the same as `uflp compare`.

    Runs are made one after the other; the command line makes as many at once as there are cores.

    Examples:
        >>> uflp.compare("deep-sea", size=20, queries=10_000, seeds=3)

    Args:
        preset: see `train`.
        agent: see `train`.
        uncertainty: see `train`.
        rule: see `train`.
        variant: see `train`.
        seeds: of each kind of access, from 0.
        out: folder of the runs, which goes on with those that are there; None keeps none.
        stop_at_return: see `train`.
        force: trains even where the simulator does not go back to where it was saved.
        **settings: see `train`.
    """
    names, settings = _names_and_settings(agent, uncertainty, rule, settings)
    with _folder_of_runs(out) as (folder, kept):
        jobs = comparison_jobs(
            _preset_name(preset),
            folder,
            seeds=seeds,
            variant=variant,
            overrides=settings,
            stop_at_return=stop_at_return,
            **names,
        )
        _run_all(jobs, folder, force=force)
        return Compared(jobs, None if out is None else folder, kept)


def sweep(
    preset: Any,
    vary: Mapping[str, Sequence[Any]],
    *,
    agent: Any = None,
    uncertainty: Any = None,
    access: str = "local",
    variant: str | None = None,
    seeds: int = 3,
    out: str | Path | None = None,
    stop_at_return: float | None = None,
    force: bool = False,
    **settings: Any,
) -> Ranking:
    """Try every combination of some settings, and rank them; the same as `uflp sweep`.

    Runs are made one after the other; the command line makes as many at once as there are cores.

    Examples:
        >>> print(uflp.sweep("deep-sea", {"p_init": [0, 0.1, 0.5]}, size=10))

    Args:
        preset: see `train`.
        vary: the values to try, by key.
        agent: see `train`.
        uncertainty: see `train`.
        access: see `train`.
        variant: see `train`.
        seeds: of each combination, from 0.
        out: folder of the runs, which goes on with those that are there; None keeps none.
        stop_at_return: see `train`.
        force: trains even where the simulator does not go back to where it was saved.
        **settings: of all combinations; see `train`.
    """
    names, settings = _names_and_settings(agent, uncertainty, None, settings)
    with contextlib.ExitStack() as stack:
        folder, kept = stack.enter_context(_folder_of_runs(out))
        if kept is not None:
            stack.enter_context(kept)  # Nobody reads the runs once they are ranked.
        jobs = grid_jobs(
            _preset_name(preset),
            vary,
            seeds=seeds,
            out=folder,
            access=access,
            variant=variant,
            overrides=settings,
            stop_at_return=stop_at_return,
            **names,
        )
        _run_all(jobs, folder, force=force)
        return write_ranking(jobs, folder / "ranking.md")


def resume(
    folder: str | Path,
    *,
    queries: int | None = None,
    keep_checkpoint: bool = False,
    callback: Callback | None = None,
    checkpoint_seconds: float = 600.0,
    trust: bool = False,
) -> Result:
    """Go on with an interrupted run; the same as `uflp train --resume` on the command line.

    Its numbers are those that it would have had without the interruption.

    Examples:
        >>> uflp.resume("runs/dive", queries=200_000)  # more, also for a run that is finished

    Args:
        folder: of the run.
        queries: a larger budget, with what is spent; None keeps that of the run. A finished run
            that kept no checkpoint begins at the start, with the numbers that it had.
        keep_checkpoint: see `train`.
        callback: see `train`; only called for rows that are new.
        checkpoint_seconds: see `train`.
        trust: whether you trust what the folder names: a `module:factory` to import, the address
            of a Ray cluster. Needed once for a run that was not made here; see docs/security.md.

    Returns:
        The outcome of the whole run.
    """
    if queries is None:
        settings, stop_at_return = recorded(Path(folder), trust=trust)
    else:
        settings, stop_at_return = extended(Path(folder), queries, trust=trust)
    outcome = trainer(recorded_cluster(Path(folder), trust=trust))(
        settings,
        out=Path(folder),
        stop_at_return=stop_at_return,
        callback=callback,
        checkpoint_seconds=checkpoint_seconds,
        keep_checkpoint=keep_checkpoint,
        resume=True,
    )
    return Result(**vars(outcome))


def load(run: str | Path, *, trust: bool = False) -> Policy:
    """Return a trained agent.

    Examples:
        >>> policy = uflp.load("runs/bonus/seed-0")
        >>> action = policy.act(observation)
        >>> policy.evaluate(episodes=20).mean

    Args:
        run: a run folder, finished or not, or a file or folder that `uflp export` wrote.
        trust: whether you trust the `module:factory` that it names, if any, to be imported. Needed
            once for a run that was not made here; see docs/security.md.
    """
    return load_policy(Path(run), trust=trust)


def export(run: str | Path, out: str | Path, *, history: bool = False, trust: bool = False) -> Path:
    """Write a trained agent into one file, or into a folder that a model hub can hold.

    Examples:
        >>> uflp.export("runs/bonus/seed-0", "diver.state")
        >>> uflp.export("runs/bonus/seed-0", "diver/", history=True)
        >>> uflp.load("diver").act(observation)

    Args:
        run: a run folder, or what was exported from one.
        out: the file to write; text that ends in `/` names a folder instead, which must be new or
            empty. It holds the weights as safetensors, the settings as JSON, and a model card.
        history: whether the snapshots of the run go with it, for `history_from`; only into a
            folder.
        trust: see `load`.

    Returns:
        The file or folder that was written.
    """
    return write_exported(Path(run), str(out), history=history, trust=trust)


def rliable_scores(
    directories: Sequence[str | Path], value: str = "final_return"
) -> dict[str, np.ndarray]:
    """Return the outcomes of runs in the form that rliable takes.

    Examples:
        >>> scores = uflp.rliable_scores(["runs/deep-sea", "runs/swingup"])
        >>> rliable.library.get_interval_estimates(scores, aggregate, reps=2000)

    Args:
        directories: run folders, or folders of them.
        value: a number of `summary.json`, such as `final_return`, `best_return` or
            `positive_rewards`.

    Returns:
        For each algorithm an array [runs, games]: a run is a seed, a game is a preset, both in
        order. An algorithm is named by its agent and access, and by its variant and uncertainty
        where these differ.
    """
    return scores_of([Path(directory) for directory in directories], value)


def register(kind: Kind, name: str, settings: type) -> None:
    """Give a settings class of your own a name, for this process.

    Afterwards the name does wherever names do, such as `uflp.train(..., uncertainty=name)`. The
    command line takes `my_module:Class` instead, and a package that offers one as an entry point
    (`uflp.agents`, `uflp.uncertainties`, `uflp.rules`, `uflp.simulators`) names it for everybody
    who has installed the package.

    Args:
        kind: `agent`, `uncertainty`, `rule` or `simulator`.
        name: what to call it.
        settings: a frozen dataclass whose method `make` builds one; see docs/extending.md.
    """
    if kind not in _REGISTRIES:
        raise UsageError(unknown("kind", str(kind), _REGISTRIES))
    _REGISTRIES[kind].register(name, settings)


def _names_and_settings(
    agent: Any, uncertainty: Any, rule: Any, settings: dict[str, Any]
) -> tuple[dict[str, str | None], dict[str, Any]]:
    """Return the names of agent and uncertainty, and all settings, the name of the rule with them.

    A setting that is given by its key takes the place of one that a settings object has.
    """
    names: dict[str, str | None] = {}
    values: dict[str, Any] = {}
    for kind, given in (("agent", agent), ("uncertainty", uncertainty), ("rule", rule)):
        names[kind], own = _named(kind, given)
        values |= own
    rule_name = names.pop("rule")
    if rule_name is not None:
        values["rule"] = rule_name
    return names, values | settings


@contextlib.contextmanager
def _folder_of_runs(out: str | Path | None) -> Iterator[tuple[Path, Any]]:
    """Yield the folder for some runs, and what keeps it while somebody may still read them."""
    if out is not None:
        yield Path(out), None
        return
    kept = tempfile.TemporaryDirectory(prefix="uflp-")
    yield Path(kept.name), kept


def _run_all(jobs: Sequence[Job], folder: Path, *, force: bool) -> None:
    """Make the runs that are missing, one after the other.

    In this process: others would import the user's script again, and lack what only this one has.
    """
    missing = [job for job in jobs if job.unfinished()]
    if not force:
        require_faithful(job.settings for job in missing)
    with at_work(folder):
        for job in missing:
            run_job(job)


def _named(kind: str, given: Any) -> tuple[str | None, dict[str, Any]]:
    """Return the name of an agent, uncertainty or rule, and the settings that come with it."""
    if given is None or isinstance(given, str):
        return given, {}
    if isinstance(given, type):
        return name_of(given), {}
    if not dataclasses.is_dataclass(given):
        raise UsageError(
            f"{kind} is a name, or a dataclass of settings whose method make builds one, not "
            f"{given!r}"
        )
    fields = dataclasses.fields(given)
    return name_of(type(given)), {field.name: getattr(given, field.name) for field in fields}


def _preset_name(preset: Any) -> str:
    """Return the name of a preset, a simulator, or an environment that was given as an object."""
    if isinstance(preset, str):
        return preset
    if isinstance(preset, gymnasium.Env):
        spec = preset.spec
        if spec is None:
            raise UsageError(
                f"{preset} cannot be made anew, and evaluation needs one of its own: give a "
                "function that makes the environment, such as lambda: MyEnv()"
            )
        return name_of(lambda: gymnasium.make(spec), spec.id)
    if isinstance(preset, gymnasium.vector.VectorEnv):
        raise UsageError(
            "training takes one environment, not a vector: give what makes one of them"
        )
    if callable(preset):
        return name_of(preset)
    raise UsageError(
        "preset is a name, an environment, or a function that makes one, not "
        f"{type(preset).__name__}"
    )
