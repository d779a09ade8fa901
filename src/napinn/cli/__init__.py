"""The command line: thin, it parses, calls, prints and sets the exit code."""
