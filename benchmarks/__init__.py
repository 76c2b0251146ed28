"""Benchmarks: ratios measured in one run, because only ratios travel between machines."""
