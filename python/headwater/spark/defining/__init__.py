"""Definitions: from a statement or a job to an analysed view, or to a refusal."""
