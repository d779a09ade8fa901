"""What fits: networks and splines behind one contract, and the choice between them."""
