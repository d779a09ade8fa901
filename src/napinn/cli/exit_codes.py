"""The exit codes of every command; 0 is a result that can be trusted."""

EXIT_NOT_WRITTEN = 1
"""The disk, the memory or standard output failed."""
EXIT_BAD_INPUT = 2
"""The input is wrong, and the message says where."""
EXIT_NOT_TRUSTED = 3
"""There is a result that is not to be trusted, or a study of which fits failed."""
EXIT_INTERRUPTED = 130
"""Ctrl-C, as shells count it."""
