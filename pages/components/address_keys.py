"""How addresses name what is stored here, the same on every page: links between the pages depend on it."""

from __future__ import annotations

from arml_core.threat import ThreatModel

KEY_LENGTH = 12
"""So many characters of an id or a fingerprint stand for a run or an upload."""


def limits_of(threat: ThreatModel) -> str:
    """The kind of limits an attacker has, beside the norm."""
    if threat.costs is not None or threat.frozen:
        return "special"
    return "free" if threat.box is None else "box"
