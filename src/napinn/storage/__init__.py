"""Files that napinn writes: complete or absent, without pickle, and never over what somebody needs."""
