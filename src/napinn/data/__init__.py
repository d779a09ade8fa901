"""What was measured: readings, the files that hold them, and robust statistics of them."""
