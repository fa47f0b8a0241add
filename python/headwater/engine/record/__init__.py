"""The record: how each event changes the state, and which event describes what a look found."""
