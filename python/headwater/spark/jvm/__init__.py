"""The driver's JVM: calls, messages, sessions and spelling of SQL."""
