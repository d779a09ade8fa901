"""The jackknife: which readings vary together, and how far leaving them out moves an answer."""
