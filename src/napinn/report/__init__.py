"""Figures and the HTML report: they read a result and never train."""
