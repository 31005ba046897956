"""Attacks: perturbations that were seen to change the answer, as upper bounds on the robust radius."""

from .boundary import boundary_attack
from .whitebox import attack_point, whitebox_attack

METHODS = ("whitebox", "boundary")
"""The strongest first."""

__all__ = ["METHODS", "attack_point", "boundary_attack", "whitebox_attack"]
