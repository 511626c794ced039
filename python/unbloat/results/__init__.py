"""What runs came to: records, data frames, files, metrics and their statistics."""
