"""Backbones, one a file, each written once over the stream algebra."""

from napinn.networks.base import Backbone, Linear, Network, xavier
from napinn.networks.mlp import MLP, MLPNetwork

__all__ = ["MLP", "Backbone", "Linear", "MLPNetwork", "Network", "xavier"]
