"""The notebook runs, and the examples log to what they say they log to."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
TINY = {"size": 4, "queries": 120, "eval_period": 60, "learning_batch": 8}


def test_the_notebook_runs_and_is_kept_without_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    notebook = nbformat.read(EXAMPLES / "quickstart.ipynb", as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code)
    for cell in code:
        cell.source = cell.source.replace("QUERIES = 3000", "QUERIES = 300")
    assert any("QUERIES = 300\n" in cell.source for cell in code)
    client = nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3")
    client.execute(cwd=str(EXAMPLES))
    printed = "".join(
        output.get("text", "") for cell in code for output in cell.outputs if "text" in output
    )
    assert "faithful" in printed and "<Result of deep-sea" in printed
    kinds = {kind for cell in code for output in cell.outputs for kind in output.get("data", {})}
    assert "image/png" in kinds


class Recording:
    """Stands for a run of MLflow or W&B, and keeps what it is told."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any, Any]] = []
        self.config, self.summary = Told(self, "config"), Told(self, "summary")

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *error: object) -> None:
        self.calls.append(("end", None, None))

    def log(self, values: dict[str, float], step: int) -> None:
        self.calls.append(("metrics", values, step))


class Told:
    def __init__(self, run: Recording, name: str):
        self._run, self._name = run, name

    def update(self, values: dict[str, Any]) -> None:
        self._run.calls.append((self._name, values, None))


def check(calls: list[tuple[str, Any, Any]], settings: str) -> None:
    """Two evaluations, then the settings, the summary and the end."""
    assert [kind for kind, _, _ in calls] == ["metrics", "metrics", settings, "summary", "end"]
    assert [step for kind, _, step in calls if kind == "metrics"] == [60, 120]
    assert all("eval_return_mean" in values for kind, values, _ in calls if kind == "metrics")
    assert str(dict(calls[2][1])["size"]) == "4"


def test_mlflow_is_told_of_every_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    run, stub = Recording(), ModuleType("mlflow")
    told: Any = stub
    told.start_run = lambda run_name: run
    told.log_metrics = lambda values, step: run.log(values, step)
    told.log_params = lambda values: run.calls.append(("params", values, None))
    told.log_dict = lambda values, name: run.calls.append(("summary", values, name))
    monkeypatch.setitem(sys.modules, "mlflow", stub)
    runpy.run_path(str(EXAMPLES / "mlflow_logging.py"))["main"](**TINY)
    check(run.calls, "params")


def test_wandb_is_told_of_every_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    run, stub = Recording(), ModuleType("wandb")
    told: Any = stub
    told.init = lambda project, name: run
    monkeypatch.setitem(sys.modules, "wandb", stub)
    runpy.run_path(str(EXAMPLES / "wandb_logging.py"))["main"](**TINY)
    check(run.calls, "config")


@pytest.mark.parametrize(("name", "package"), [("mlflow", "mlflow"), ("wandb", "wandb")])
def test_a_missing_package_is_said_in_one_sentence(name: str, package: str, tmp_path: Path) -> None:
    (tmp_path / f"{package}.py").write_text("raise ImportError")
    ended = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}_logging.py")],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 1
    assert ended.stderr.strip().endswith(f"pip install {package}") and ended.stderr.count("\n") == 1
