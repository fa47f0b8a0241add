"""Tables of any format, as sources and as views."""
