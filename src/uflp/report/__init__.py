"""Statistics over seeds, learning curves, figures, and pages that sum up runs."""

from uflp.report.writing import Report, write_report

__all__ = ["Report", "write_report"]
