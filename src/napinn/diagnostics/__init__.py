"""Is the fit right? Reads readings and results, and never trains."""
