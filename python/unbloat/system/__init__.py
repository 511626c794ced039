"""The operating system: folders, files, signals, boot services, and text that people read."""
