"""The experiments of the papers and made-up warehouses, played with the engine's own core on a virtual clock."""
