"""The place of the store, and its catalog."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from headwater.model.error import StoreError
from headwater.spark.jvm import paths
from headwater.spark.jvm.sessions import IN_MEMORY, in_memory
from headwater.store.dialect import EXAMPLE, Where, default_store, is_url, repeatable
from headwater.store.sql_store import SqlStore

CATALOG = "catalog"
"""The note of a store in a database that names its catalog."""

NAMING = ("database", "databasename", "instancename", "port", "portnumber", "servername", "currentschema")
"""Options in the URL of a metastore's database that say which one it is, in lower case. The others may be secret."""

_KIND = re.compile(r"(?:[^:/@;?]+:)?(?:[^:/@;?]+:)?(?:(?:[^:/@;?]+:)*//)?")
_QUOTED = re.compile(r'"[^"]*"')
_OPTIONS = re.compile(r"[;?]")
_OPTION = re.compile(r"[;?&]\s*(\w+)\s*=(\{(?:[^}]|\}\})*\}|[^;&]*)")
_CREDENTIAL = re.compile(r"\w*(?:user|passw|pwd|secret|token)\w*\s*=[^,()]*", re.IGNORECASE)

DAY = 86_400


def store_place(session: SparkSession, conf: Mapping[str, str]) -> Where:
    """The file or database named by ``spark.headwater.store``, or a file beside a local warehouse.

    An in-memory catalog has a store of its own. It is useless after the application.

    Raises:
        StoreError: the setting, or the warehouse if there is none, is not on a local disk.
    """
    named = conf.get("spark.headwater.store")
    if named and is_url(named):
        return named
    if named:
        found = paths.local(named)
        if found is None:
            raise StoreError(
                f"spark.headwater.store is {repeatable(named)}: it is neither a file on a local disk nor the URL of a "
                f"database; set it to one of both, such as {EXAMPLE}"
            )
        return found.absolute()
    warehouse = session.conf.get("spark.sql.warehouse.dir") or ""
    directory = paths.local(warehouse)
    if directory is None:
        raise StoreError(
            f"the warehouse {warehouse} is not on a local disk; set spark.headwater.store to a local file for the "
            f"store, or to a database such as {EXAMPLE}"
        )
    usual = default_store(directory)
    if not in_memory(session):
        return usual
    _remove_old(usual.parent)
    return usual.with_name(f"{IN_MEMORY}-{session.sparkContext.applicationId}.db")


def opened(where: Where, catalog: str) -> SqlStore:
    """The store of this catalog.

    Raises:
        StoreError: it cannot be opened, or holds the views of another catalog.
    """
    if isinstance(where, Path):
        claim(where, catalog)
        return SqlStore(where)
    store = SqlStore(where)
    found = store.note_first(CATALOG, catalog)
    if found != catalog:
        store.close()
        raise StoreError(
            f"{_another(store.name, found, catalog)}; set spark.headwater.store to another database. If both are one "
            f"catalog under two names, delete the row '{CATALOG}' of the table note there"
        )
    return store


def claim(path: Path, catalog: str) -> None:
    """Notes the catalog beside its store. With another catalog, all views would seem dropped.

    Raises:
        StoreError: the store holds the views of another catalog, or its directory cannot be written.
    """
    note = path.with_name(path.name + ".catalog")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            note.unlink(missing_ok=True)
        try:
            with open(os.open(note, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
                file.write(catalog)
            return
        except FileExistsError:
            found = note.read_text()
    except OSError as error:
        raise StoreError(
            f"the store {path} cannot be opened ({error.strerror}); set spark.headwater.store to a file you can write"
        ) from error
    if found != catalog:
        raise StoreError(
            f"{_another(str(path), found, catalog)}; set spark.headwater.store to another file. If both are one "
            f"catalog under two names, remove {note}"
        )


def _another(store: str, found: str, catalog: str) -> str:
    return f"the store {store} holds the views of the catalog {found}, but this session has the catalog {catalog}"


def catalog_identity(session: SparkSession) -> str:
    """The identity of this session's catalog: the address of its metastore, which stores and messages repeat."""
    if in_memory(session):
        return IN_MEMORY
    hadoop = session.sparkContext._jsc.hadoopConfiguration()
    uris = hadoop.get("hive.metastore.uris")
    if uris and uris.strip():
        return uris.strip()
    url = hadoop.get("javax.jdo.option.ConnectionURL") or "jdbc:derby:;databaseName=metastore_db;create=true"
    if not url.startswith("jdbc:derby:"):
        return address(url)
    return f"derby:{_derby(url, session)}"


def address(url: str) -> str:
    """What names a database in the URL of its driver: no user, no password, and no other options.

    ``jdbc:mysql://u:pw@h/db?ssl=true`` is ``jdbc:mysql://h/db``, and ``jdbc:oracle:thin:u/pw@h:1521:hive`` is
    ``jdbc:oracle:h:1521:hive``.
    """
    kind = _KIND.match(url)
    assert kind is not None, "each text begins like this"
    rest = _QUOTED.sub("", url[kind.end() :])
    place = _OPTIONS.split(rest, maxsplit=1)[0]
    named = {key.lower(): value for key, value in _OPTION.findall(rest[len(place) :]) if key.lower() in NAMING}
    place = _CREDENTIAL.sub("", place.rpartition("@")[2])
    return "".join([kind[0], place, *(f";{key}={value}" for key, value in sorted(named.items()))])


def _derby(url: str, session: SparkSession) -> str:
    """The directory of an embedded Derby database, which is relative to the driver's working directory."""
    options = dict(part.partition("=")[::2] for part in url.removeprefix("jdbc:derby:").split(";"))
    name = options.get("databaseName") or url.removeprefix("jdbc:derby:").split(";")[0]
    jvm: Any = session._jvm
    system = jvm.java.lang.System
    home = system.getProperty("derby.system.home") or system.getProperty("user.dir")
    return os.path.normpath(os.path.join(home, name))


def _remove_old(directory: Path) -> None:
    """Removes old stores of in-memory catalogs whose applications are over."""
    for old in directory.glob(f"{IN_MEMORY}-*"):
        if old.stat().st_mtime < time.time() - DAY:
            old.unlink(missing_ok=True)


def remove(path: Path) -> None:
    """Removes a store and the files beside it."""
    for each in path.parent.glob(path.name + "*"):
        each.unlink(missing_ok=True)
