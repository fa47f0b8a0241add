"""A store in a PostgreSQL database, in a schema of its own, for engines on several machines."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from headwater.model.error import StoreError
from headwater.store.dialect import DRIVER, EXAMPLE, repeatable
from headwater.store.schema import meta

SCHEMA = "headwater"
PREPARING = 0x4865616477
"""The number of the advisory lock that a program holds while it makes or changes the tables."""

CONNECT = {
    "connect_timeout": 4,  # s, for each address of the host; `localhost` has two
    "tcp_user_timeout": 10_000,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
}
OPTIONS = {
    "search_path": SCHEMA,
    # A program that is paused inside a transaction must not hold up all others.
    "idle_in_transaction_session_timeout": "5s",
    "lock_timeout": "20s",
}


class Postgresql:
    """See ``headwater.store.dialect.Dialect``. Where no password is in the URL, libpq looks for one as usual.

    Raises:
        StoreError: the URL is not of a PostgreSQL database, or the driver is not installed.
    """

    now = sa.literal_column("CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT)", sa.BigInteger)
    insert = staticmethod(insert)
    reads_only = False

    def __init__(self, url: str) -> None:
        self._url = _parsed(url)
        self.name = shown(self._url)

    def writer(self) -> sa.Engine:
        options = " ".join(f"-c {name}={value}" for name, value in OPTIONS.items())
        given = self._url.query.get("options")
        connect = {**CONNECT, "options": f"{options} {given}" if given else options}
        url = self._url.difference_update_query(["options"])
        try:
            return sa.create_engine(url, connect_args=connect, pool_pre_ping=True, hide_parameters=True)
        except ImportError as error:
            raise StoreError(
                f"the store {self.name} needs the driver psycopg, which cannot be loaded ({error}); "
                'run: pip install "headwater[postgresql]"'
            ) from error

    def reader(self, writer: sa.Engine) -> sa.Engine:
        return writer.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    def serialise(self, connection: sa.Connection) -> None:
        connection.execute(sa.select(sa.literal(1)).select_from(meta).with_for_update())

    def prepare(self, connection: sa.Connection) -> None:
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(PREPARING)))
        if not connection.scalar(sa.text("SELECT to_regnamespace(:name) IS NOT NULL"), {"name": SCHEMA}):
            connection.execute(sa.schema.CreateSchema(SCHEMA))

    def explained(self, error: sa.exc.DBAPIError) -> StoreError:
        said = " ".join(str(error.orig).split())
        if self._url.password:  # the driver does not print it; what it prints is not ours to promise
            said = said.replace(str(self._url.password), "***")
        return StoreError(
            f"the store {self.name} cannot be used ({said}). Check that the server answers, that the database exists, "
            "and that user and password are right; without one in the URL, the password comes from PGPASSWORD or "
            "~/.pgpass"
        )


def shown(url: sa.URL) -> str:
    """A database as messages name it. A password may hide in the query, too, so neither is shown."""
    place = sa.URL.create(url.drivername, url.username, host=url.host, port=url.port, database=url.database)
    return place.render_as_string(hide_password=True)


def _parsed(text: str) -> sa.URL:
    kind = text.partition("://")[0]
    if kind not in (DRIVER, "postgresql"):
        begins = repeatable(f"{kind}://")
        raise StoreError(f"the store's URL begins with {begins}; name a file, or a database such as {EXAMPLE}")
    try:
        url = sa.make_url(text).set(drivername=DRIVER)
    except (sa.exc.ArgumentError, ValueError):
        url = None
    if url is None or not url.database or "@" in f"{url.host}{url.username}{url.database}":
        # The text is not repeated, nor is the error chained: a password may be in it.
        raise StoreError(
            f"the store's URL cannot be read; write it as {EXAMPLE}, and @ : / in a password as %40 %3A %2F"
        ) from None
    return url
