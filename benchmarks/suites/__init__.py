"""What is measured: a suite in each file, with its cases and their options."""
