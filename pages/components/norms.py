"""The norms a step can be measured in, by the names that stand in the address."""

from __future__ import annotations

from arml_core.threat import ThreatModel

NORM_TITLES = {name: ThreatModel(name).norm_name for name in ("l1", "l2", "linf")}
