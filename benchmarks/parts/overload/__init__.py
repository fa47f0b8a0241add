"""A warehouse whose sources change faster than all views can be refreshed: the parts of `staleness load`."""
