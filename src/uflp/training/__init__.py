"""Algorithm 2 of the paper as one loop, evaluation, and what is counted."""
