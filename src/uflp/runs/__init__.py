"""A run on disk: folder, checkpoints, lock, provenance, the exported policy."""
