"""What a release is made and tried with: `make dist`, `make matrix`, `make lowest`."""
