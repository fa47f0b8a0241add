"""`headwater demo`: three days in the life of a small TPC-H warehouse, played through plain spark-sql."""
