"""The spline engine: Gauss–Newton on B-splines with the learned noise law."""
