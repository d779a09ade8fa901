"""A request that the page itself does not send: it is refused and written down."""


class RefusedError(Exception):
    """Why a request is refused.

    :param code: Status of HTTP.
    :param sentence: The reason, for the client and for the log."""

    def __init__(self, code: int, sentence: str):
        Exception.__init__(self, sentence)
        self.code = code
