"""How long a change waits for others: for a promised freshness, a budget, a cadence, and a deadline over all."""
