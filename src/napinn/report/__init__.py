"""What a person looks at: the HTML report, figures, animations and the page of a running fit. Reads results only."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["plot"])
