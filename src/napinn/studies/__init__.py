"""Benchmarks with a known truth, many jobs at once, and the paper's tables and figures."""
