"""What several suites use: the harness, Spark processes to measure in, tables and their changes."""
