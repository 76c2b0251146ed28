"""The paper: the planner (the choice in Algorithm 2), the rollout (Algorithm 1), the history."""

from uflp.planning.acting import Actor, PolicyActor
from uflp.planning.demonstrations import DemonstrationRecorder, Demonstrations
from uflp.planning.history import History, HistoryLike
from uflp.planning.lineage import Lineage
from uflp.planning.observers import Observer, Observers
from uflp.planning.planner import LocalPlanner
from uflp.planning.rollout import Rollout, SimulatorFailedError
from uflp.planning.rules import RULES, Rule, Sources, Start
from uflp.planning.save_schedule import ByNovelty, EveryKth, SaveSchedule

__all__ = [
    "RULES",
    "Actor",
    "ByNovelty",
    "DemonstrationRecorder",
    "Demonstrations",
    "EveryKth",
    "History",
    "HistoryLike",
    "Lineage",
    "LocalPlanner",
    "Observer",
    "Observers",
    "PolicyActor",
    "Rollout",
    "Rule",
    "SaveSchedule",
    "SimulatorFailedError",
    "Sources",
    "Start",
]
