"""napinn: fields, coefficients, the noise law and a reliability for every reading, from imperfect sensors and an
equation.

    import napinn
    problem = napinn.Problem(coordinates={"x": (0, 1), "t": (0, 1)}, fields=("u",),
                             equations=("u_t = D*u_xx",), unknowns={"D": napinn.Unknown(1.0, low=0.0)})
    result = napinn.fit(problem, napinn.read_table(table, ("x", "t"), ("u",)))
    result.unknowns, result.field.at(x=0.5, t=0.5), result.reliability

Names are loaded when first used, so that `napinn --help` does not wait for JAX.
"""

import lazy_loader

__version__ = "0.2.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
