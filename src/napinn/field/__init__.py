"""How a field is represented: networks with their derivatives, B-splines, and the scaling of both."""
