"""Who may see and change what.

On localhost one person owns everything. In shared mode (``ARML_SHARED=1``) a visitor is known by an unguessable key;
the store keeps only a hash of it. What comes of an upload belongs to the key; what comes of a public dataset is seen
by all and cancelled by those who asked for it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from dataclasses import dataclass

PUBLIC = ""
LOCAL = "local"
"""Owns what is uploaded outside shared mode; no key has this tag, so nothing of it shows when sharing begins."""
SHORTEST_KEY = 16
DAY = 86_400.0
UPLOADS_PER_KEY = 500 * 2**20
"""Bytes that one key may keep in shared mode: files, and the tables, query rows and metrics made of them.

It protects the disk from accidents only: whoever comes without a key gets a new one, with a limit of its own.
"""


def new_key() -> str:
    """A key for a visitor: 160 random bits."""
    return secrets.token_urlsafe(20)


def is_shared() -> bool:
    """Whether several people use this app."""
    return os.environ.get("ARML_SHARED", "").strip().lower() in ("1", "true", "yes", "on")


def upload_lifetime() -> float:
    """Seconds an upload is kept in shared mode: ``ARML_UPLOAD_DAYS``, 7 by default."""
    text = os.environ.get("ARML_UPLOAD_DAYS", "").strip() or "7"
    try:
        days = float(text)
    except ValueError:
        days = -1.0
    if not days > 0:
        raise ValueError(f"ARML_UPLOAD_DAYS must be a positive number of days; got {text!r}")
    return days * DAY


@dataclass(frozen=True)
class Visitor:
    """Somebody who asks: `tag` is empty for a visitor of a shared app without a key, who looks and owns nothing."""

    tag: str
    shared: bool

    @classmethod
    def of(cls, key: str | None, shared: bool | None = None) -> Visitor:
        shared = is_shared() if shared is None else shared
        if not shared:
            return cls(LOCAL, False)
        if key is None:
            return cls(PUBLIC, True)
        if len(key) < SHORTEST_KEY:
            raise ValueError(f"an owner key has at least {SHORTEST_KEY} characters; got {len(key)}")
        return cls(hashlib.sha256(b"arml-owner:" + key.encode()).hexdigest()[:32], True)

    def private_scope(self) -> str:
        """The scope of an upload of this visitor."""
        if self.shared and self.tag == PUBLIC:
            raise ValueError("an upload needs an owner key, so that only its owner sees it")
        return self.tag

    def owns(self, asked: bool) -> bool:
        """Whether a job is this visitor's: they `asked` for it. One without a key is not told apart from others."""
        return not self.shared or (asked and self.tag != PUBLIC)

    def sees(self, scope: str) -> bool:
        return not self.shared or scope == PUBLIC or scope == self.tag
