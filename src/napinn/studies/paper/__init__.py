"""The paper's tables and figures, each a small declaration over benchmarks and methods."""
