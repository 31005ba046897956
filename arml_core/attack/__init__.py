"""Attacks: perturbations that were seen to change the answer, as upper bounds on the robust radius."""

from .whitebox import whitebox

__all__ = ["whitebox"]
