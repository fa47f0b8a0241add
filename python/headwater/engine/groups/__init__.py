"""Groups of views that readers see at one state of every table."""
