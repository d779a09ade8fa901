"""What a fit gives back, whatever engine found it, and the contracts of methods and models."""
