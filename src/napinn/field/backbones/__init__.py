"""Backbones, one a file, each written once over the stream algebra."""

from napinn.field.backbones.base import Backbone, Fixed, Linear, Network, parameter_count, xavier, xavier_layers
from napinn.field.backbones.bayesian import BayesianLinear, BayesianMLP, BayesianNetwork, divergence, sampled
from napinn.field.backbones.fls import FLS, FLSNetwork
from napinn.field.backbones.kan import KAN, KANNetwork
from napinn.field.backbones.mlp import MLP, MLPNetwork
from napinn.field.backbones.piratenet import PirateNet, PirateNetwork
from napinn.field.backbones.qres import QRes, QResNetwork

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
