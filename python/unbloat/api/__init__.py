"""What `import unbloat` gives: scenarios, results, comparisons, papers. Only the command line stands above."""
