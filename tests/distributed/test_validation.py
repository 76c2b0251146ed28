"""What is asked of Ray on the command line, and what is said if it cannot be had."""

import os
import socket
import sys

import pytest

from uflp.cli import main
from uflp.distributed import connection
from uflp.distributed.settings import ClusterSettings
from uflp.distributed.train import require_distributable
from uflp.experiments.resolve import resolve
from uflp.types import UsageError


def command(*words):
    """Calls the command line; returns its exit code."""
    sys.argv = ["uflp", *words]
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code


def test_an_address_that_does_not_answer_is_one_sentence(tmp_path, capsys):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["train", "deep-sea", "--ray", f"127.0.0.1:{port}", "--out", str(tmp_path / "run")]
    assert command(*words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "no Ray cluster answers" in line and str(port) in line
    assert not (tmp_path / "run").exists()


def test_a_cluster_that_is_gone_is_one_sentence(tmp_path, capsys, monkeypatch):
    # Ray remembers the last cluster of a machine, and would look for it for minutes.
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{free.getsockname()[1]}")
    monkeypatch.setattr(connection, "HEALTH_SECONDS", 5.0)
    assert command("train", "deep-sea", "--ray", "auto", "--out", str(tmp_path / "run")) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "belongs to no Ray cluster that answers: use --ray local" in line
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("started", [False, True])
def test_a_gpu_that_is_not_there_is_one_sentence(started, tmp_path, capsys, monkeypatch):
    import ray

    calls = []
    monkeypatch.setattr(ray, "is_initialized", lambda: started)
    monkeypatch.setattr(ray, "init", lambda **options: calls.append("init"))
    monkeypatch.setattr(ray, "shutdown", lambda: calls.append("shutdown"))
    monkeypatch.setattr(ray, "cluster_resources", lambda: {"CPU": 64.0})
    monkeypatch.setattr("uflp.distributed.train.train_run", lambda *given, **more: calls.append(1))
    words = ["train", "deep-sea", "--ray", "local", "--gpu-learner", "--out", str(tmp_path / "run")]
    assert command(*words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "Ray finds 0 GPUs, and this run needs 1: leave out --gpu-learner" in line
    assert calls == ([] if started else ["init", "shutdown"])
    monkeypatch.setattr(ray, "cluster_resources", lambda: {"CPU": 64.0, "GPU": 1.0})
    with connection.connected("local", 5, gpus=1):
        calls.append("connected")
    assert "connected" in calls


def test_without_ray_there_is_the_line_to_type(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert command("train", "deep-sea", "--ray", "local", "--out", str(tmp_path / "run")) == 2
    assert "pip install 'uflp[ray]'" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--actors", "2"], "--actors goes with --ray"),
        (["--ray", "local", "--seeds", "2"], "give one --seed"),
        (["--ray", "local", "--own-counts"], "needs shared counts"),
        (["--ray", "local", "--actors", "2", "--lock-step"], "one actor can keep step"),
        (["--ray", "somewhere"], "HOST:PORT"),
        (["--ray", "local", "--actors", "0"], "at least 1"),
        (["--ray", "local", "--rule", "uniform"], "the rule uniform sees the history of one"),
        (["--ray", "local", "--history-from", "other"], "leave out history_from"),
        (["--ray", "local", "--demonstrations", "file"], "leave out demonstrations"),
        (["--ray", "local", "--uncertainty", "rnd", "restart=pair"], "one of states alone"),
    ],
)
def test_what_cannot_be_distributed_is_said_before_anything_starts(words, said, tmp_path, capsys):
    assert command("train", "deep-sea", *words, "--out", str(tmp_path / "run")) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_pixels_are_not_shared():
    settings = resolve("atari/pitfall", uncertainty="rnd")
    require_distributable(settings, ClusterSettings().fitted(settings))
    with pytest.raises(UsageError, match="its own counts"):
        require_distributable(settings, ClusterSettings(shared_counts=True).fitted(settings))


def test_a_whole_history_is_shared_unless_told_otherwise():
    whole, batched = resolve("deep-sea"), resolve("deep-sea", overrides={"batch": 8})
    assert ClusterSettings().fitted(whole).shared_counts is True
    assert ClusterSettings().fitted(batched).shared_counts is False
    assert ClusterSettings(shared_counts=True).fitted(batched).shared_counts is True
    with pytest.raises(UsageError, match="needs shared counts"):
        ClusterSettings(shared_counts=False).fitted(whole)


def test_every_cluster_has_a_token_of_its_own_and_leaves_the_environment_as_it_was(monkeypatch):
    from ray._private import ray_constants

    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", "mine")
    before, reachable = dict(os.environ), ray_constants.ENABLE_RAY_CLUSTER
    tokens = set()
    for _ in range(2):
        with connection.private_cluster():
            assert os.environ["RAY_AUTH_MODE"] == "token"
            assert "RAY_AUTH_TOKEN_PATH" not in os.environ
            tokens.add(os.environ["RAY_AUTH_TOKEN"])
        assert dict(os.environ) == before
        assert reachable is ray_constants.ENABLE_RAY_CLUSTER
    assert len(tokens) == 2 and all(len(token) == 64 for token in tokens)
