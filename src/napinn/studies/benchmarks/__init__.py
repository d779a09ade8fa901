"""Truths with labels: problems, corruption and scores. The fitting side may not import this room."""
