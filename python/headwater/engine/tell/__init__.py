"""Answers to people: states, reasons, histories and forecasts of views."""
