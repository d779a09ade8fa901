"""A run on disk: what was asked for, what was found, progress, export."""
