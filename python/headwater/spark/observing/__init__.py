"""Changes of tables and definitions, from hints and checks to events on record."""
