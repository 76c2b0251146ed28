"""Uncertainties: u(s, a) or u(s), one file each."""

from uflp.registry import Registry
from uflp.uncertainty.base import Uncertainty

UNCERTAINTIES = Registry(
    "uncertainty",
    {
        "counts": "uflp.uncertainty.counts:Counts",
        "covariance": "uflp.uncertainty.covariance:Covariance",
        "ensemble-std": "uflp.uncertainty.ensemble:EnsembleStd",
        "rnd": "uflp.uncertainty.rnd:RND",
    },
    group="uflp.uncertainties",
)

__all__ = ["UNCERTAINTIES", "Uncertainty"]
