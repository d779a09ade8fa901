"""The law of the noise: density estimators, the gate, losses and the likelihood."""
