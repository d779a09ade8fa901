"""Backbones, one a file, each written once over the stream algebra."""

from napinn.networks.base import Backbone, Fixed, Linear, Network, parameter_count, xavier
from napinn.networks.mlp import MLP, MLPNetwork

__all__ = ["MLP", "Backbone", "Fixed", "Linear", "MLPNetwork", "Network", "parameter_count", "xavier"]
