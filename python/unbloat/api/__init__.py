"""The public API of `import unbloat`: scenarios, results, comparisons, papers. Only the command line imports it."""
