"""A user's own line: measured, fitted by a scenario, cured, and the cure proved; for the public API and the command."""
