"""Restart rules: where a rollout goes back to, one file each."""

from uflp.collection.rules.base import Kind, Rule, RuleSettings, Sources, Start
from uflp.registry import Registry

RULES = Registry(
    "rule",
    {
        "uncertainty": "uflp.collection.rules.uncertainty:MostUncertain",
        "uniform": "uflp.collection.rules.uniform:Uniform",
        "return": "uflp.collection.rules.returns:Return",
        "td-error": "uflp.collection.rules.td_error:TDError",
        "go-explore": "uflp.collection.rules.go_explore:GoExplore",
    },
)

__all__ = ["RULES", "Kind", "Rule", "RuleSettings", "Sources", "Start"]
