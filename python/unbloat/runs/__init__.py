"""Running scenarios: once or as a sweep, in processes here or on a cluster, with a store of results."""
