"""What-if: the same core on a virtual clock."""
