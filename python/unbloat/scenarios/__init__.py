"""What to run: the scenario, everything that its outcome depends on, and what there is to choose from."""
