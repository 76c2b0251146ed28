"""What runs come to: statistics over seeds, learning curves, and a page with both."""

from uflp.report.writing import Report, write_report

__all__ = ["Report", "write_report"]
