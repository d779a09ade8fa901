"""Backbones, one a file, each written once over the stream algebra."""

from napinn.networks.base import Backbone, Fixed, Linear, Network, parameter_count, xavier, xavier_layers
from napinn.networks.bayesian import BayesianLinear, BayesianMLP, BayesianNetwork, divergence, sampled
from napinn.networks.fls import FLS, FLSNetwork
from napinn.networks.kan import KAN, KANNetwork
from napinn.networks.mlp import MLP, MLPNetwork
from napinn.networks.piratenet import PirateNet, PirateNetwork
from napinn.networks.qres import QRes, QResNetwork

__all__ = [
    "FLS",
    "KAN",
    "MLP",
    "Backbone",
    "BayesianLinear",
    "BayesianMLP",
    "BayesianNetwork",
    "FLSNetwork",
    "Fixed",
    "KANNetwork",
    "Linear",
    "MLPNetwork",
    "Network",
    "PirateNet",
    "PirateNetwork",
    "QRes",
    "QResNetwork",
    "divergence",
    "parameter_count",
    "sampled",
    "xavier",
    "xavier_layers",
]
