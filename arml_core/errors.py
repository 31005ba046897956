"""The exceptions this package raises on purpose."""


class Cancelled(Exception):
    """Raised by a progress callback to stop the work; it passes through to the caller unchanged."""


class NotPSDError(ValueError):
    """The matrix given as a metric is not positive semi-definite."""


class ContradictionError(ArithmeticError):
    """A proved radius exceeds the size of a perturbation that was seen to change the answer: the program is wrong."""


class NotSupportedError(ValueError):
    """The method cannot certify under this threat model; the message lists what can."""
