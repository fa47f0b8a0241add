"""The engine process: its start, its threads, its settings and its end."""
