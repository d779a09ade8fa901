"""Readers, one file a format; each says row and column of what is wrong."""

from napinn.io.csv import read_csv

__all__ = ["read_csv"]
