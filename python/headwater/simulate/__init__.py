"""``headwater whatif``: the engine's own core plays a scenario on a virtual clock."""
