"""Restart rules: where a rollout goes back to, one file each."""

from uflp.planning.rules.base import Kind, Rule, RuleSettings, Sources, Start
from uflp.registry import Registry

RULES = Registry(
    "rule",
    {
        "uncertainty": "uflp.planning.rules.uncertainty:MostUncertain",
        "uniform": "uflp.planning.rules.uniform:Uniform",
        "return": "uflp.planning.rules.returns:Return",
        "td-error": "uflp.planning.rules.td_error:TDError",
        "go-explore": "uflp.planning.rules.go_explore:GoExplore",
    },
    group="uflp.rules",
)

__all__ = ["RULES", "Kind", "Rule", "RuleSettings", "Sources", "Start"]
