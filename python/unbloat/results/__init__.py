"""Results of runs: records, data frames, files, metrics and their statistics."""
