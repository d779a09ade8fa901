"""Discovery: which equation the readings obey, and not only its coefficients."""
