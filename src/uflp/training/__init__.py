"""Algorithm 2, evaluation, and the records that a run leaves."""
