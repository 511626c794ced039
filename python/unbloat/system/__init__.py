"""What the operating system gives: folders, signals, temporary files, boot services."""
