"""Intervals of a network's fit, to first order about its end."""
