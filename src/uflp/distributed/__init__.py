"""One run spread over many processes: the only room that imports Ray."""
