"""What fits again, or judges a fit by readings that it did not see."""
