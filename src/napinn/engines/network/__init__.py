"""The network engine: objective, training, and the fitted network as a model."""
