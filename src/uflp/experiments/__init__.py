"""Presets, and the paper's figures and tables, as data."""
