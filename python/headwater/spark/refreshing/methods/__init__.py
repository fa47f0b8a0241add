"""The rows of a run, one file for each refresh method."""
