"""The project's benchmarks: `python -m benchmarks [NAME …]` runs those named, or all, and prints a table of each."""
