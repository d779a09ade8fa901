"""The study of discovery: which equations are found again from their own corrupted solutions."""
