"""Requests: which partitions of which views a change asks for, and what they wait for."""
