"""Networks that agents and uncertainties are made of, and nothing of what they learn."""
