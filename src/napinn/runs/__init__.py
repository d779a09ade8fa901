"""A run on disk: what was asked for, what was found, progress, export; and the way from a request to it."""
