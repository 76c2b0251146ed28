"""One run distributed over many processes: the only room that imports Ray."""
