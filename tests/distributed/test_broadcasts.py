"""How often the parameters go out."""

from types import SimpleNamespace

import pytest

from uflp.distributed import lessons
from uflp.distributed.faults import Faults
from uflp.distributed.ledger import Ledger
from uflp.distributed.messages import Learned
from uflp.distributed.settings import ClusterSettings
from uflp.experiments.resolve import resolve


class Learner:
    """Learns at once, and says how large its parameters are."""

    def __init__(self, size):
        self.learn = self
        self.broadcasts = 0
        self._size = size

    def options(self, **options):
        return self

    def remote(self, lesson):
        self.broadcasts += lesson.publish
        size = self._size if lesson.publish else 0
        return Learned([0.0] * lesson.steps, None, False, 1, size), "parameters"


@pytest.mark.parametrize(("size", "most"), [(10**4, 20), (16 * 10**6, 4), (64 * 10**6, 1)])
def test_no_more_bytes_are_broadcast_than_the_object_store_can_let_go_of(monkeypatch, size, most):
    clock = SimpleNamespace(now=100.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(lessons, "time", clock)
    monkeypatch.setattr(lessons, "get", lambda answer: answer)
    settings = resolve("deep-sea", agent="ddqn")
    cluster = ClusterSettings(actors=2).fitted(settings)
    ledger = Ledger(settings.simulator.make(0), cluster.rate_limiter(settings.loop), 2)
    learner = Learner(size)
    crew = SimpleNamespace(learner=learner)
    asked = lessons.Lessons(crew, ledger, Faults(), cluster.parameter_period)
    for _ in range(100):
        asked.begin(cluster.parameter_period)
        asked.finish()
        clock.now += 0.01
    assert most <= learner.broadcasts <= most + 1
    assert asked.parameters.version == learner.broadcasts
