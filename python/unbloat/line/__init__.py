"""A user's own line: measured, fitted by a scenario, cured, and the cure proved. The public API and the command use it."""
