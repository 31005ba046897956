"""The tables, their version, and how an older file becomes a newer one."""

from __future__ import annotations

import sqlite3

from ..errors import StoreError

_FIRST = """
CREATE TABLE jobs (
    id TEXT PRIMARY KEY,              -- the hash of scope and spec: the same work has one row
    kind TEXT NOT NULL,               -- train | certify | attack | network
    spec TEXT NOT NULL,               -- JSON
    scope TEXT NOT NULL,              -- '' for everybody, else the tag of the owner
    title TEXT NOT NULL,
    dataset TEXT NOT NULL,            -- fingerprint
    dataset_scope TEXT NOT NULL,
    points TEXT,                      -- hash of the query rows or of the metric somebody brought
    needs TEXT,                       -- the run an evaluation belongs to
    executor TEXT NOT NULL,           -- '' or the address of a dask scheduler
    accelerated INTEGER NOT NULL,     -- would use a GPU if there is one
    priority INTEGER NOT NULL,
    turn INTEGER NOT NULL,            -- place in the queue among equals
    state TEXT NOT NULL,
    phase TEXT NOT NULL DEFAULT '',
    done INTEGER NOT NULL DEFAULT 0,
    total INTEGER NOT NULL DEFAULT 0,
    seconds_left REAL,
    beat REAL,
    attempt INTEGER NOT NULL DEFAULT 0,
    lease TEXT,                       -- who may write: a child of a dead worker may not
    reason TEXT NOT NULL DEFAULT '',
    note TEXT NOT NULL DEFAULT '',
    created REAL NOT NULL,
    started REAL,
    finished REAL,
    sha256 TEXT                       -- of the result file
) WITHOUT ROWID;
CREATE INDEX jobs_queue ON jobs (state, priority DESC, turn);
CREATE INDEX jobs_turn ON jobs (turn);
CREATE INDEX jobs_needs ON jobs (needs) WHERE needs IS NOT NULL;
CREATE TABLE owners (
    job TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    owner TEXT NOT NULL,
    PRIMARY KEY (job, owner)
) WITHOUT ROWID;
CREATE TABLE history (
    job TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    step INTEGER NOT NULL,
    numbers TEXT NOT NULL,            -- JSON
    PRIMARY KEY (job, step)
) WITHOUT ROWID;
CREATE TABLE contents (
    digest TEXT NOT NULL,
    scope TEXT NOT NULL,
    kind TEXT NOT NULL,               -- dataset | points | metric | file
    name TEXT NOT NULL,               -- for load_dataset; '' if the arrays are kept here
    title TEXT NOT NULL,
    sha256 TEXT,
    created REAL NOT NULL,
    expires REAL,
    PRIMARY KEY (digest, scope)
) WITHOUT ROWID;
CREATE TABLE worker (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    pid INTEGER NOT NULL,
    started REAL NOT NULL,
    beat REAL NOT NULL,
    held INTEGER NOT NULL DEFAULT 0   -- somebody stopped it on purpose
);
"""

MIGRATIONS: tuple[str, ...] = (_FIRST,)
"""The n-th script leads from version n to n + 1; a script that was released is never edited."""


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the database to the newest version; two processes may do so at the same moment."""
    connection.execute("PRAGMA foreign_keys = ON")
    if _version(connection) == len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection)  # again: another process may have been first
        if version > len(MIGRATIONS):
            raise StoreError(
                f"the job store has version {version}; this program knows up to {len(MIGRATIONS)}. "
                "Update the program, or set ARML_HOME to another folder"
            )
        for script in MIGRATIONS[version:]:
            for statement in _statements(script):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _statements(script: str) -> list[str]:
    """`executescript` would end the transaction, so the script is cut here."""
    statements, lines = [], ""
    for line in script.splitlines():
        lines += line + "\n"
        if sqlite3.complete_statement(lines):
            statements.append(lines)
            lines = ""
    return statements
