"""Statements: reading, answering and carrying out those of Headwater."""
