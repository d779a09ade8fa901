"""The trust check of a finished fit: readings that it never trained on, the equation solved forward, and what both say
of it. Nothing here changes a result."""
