"""`python -m uflp` is the command `uflp`."""

from uflp.cli import main

main()
