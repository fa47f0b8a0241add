"""A store in PostgreSQL: URLs, servers that do not answer, passwords, and connections that break."""

from __future__ import annotations

import logging
import socket
import sys
import traceback

import psycopg
import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from headwater.cli.main import main
from headwater.model.error import StoreError
from headwater.model.event import Hurried
from headwater.spark.process import store_location
from headwater.store import postgresql as dialect
from headwater.store.journal import Stale
from headwater.store.sql_store import SqlStore
from tests.postgresql import GUARDED, forget, libpq

SECRET = "correct horse"


@pytest.fixture
def url(postgresql) -> str:
    forget(postgresql)
    return postgresql


@pytest.fixture
def store(url):
    made = SqlStore(url)
    yield made
    made.close()


def told(error: BaseException) -> str:
    """All that anybody may print of an error."""
    return "".join(traceback.format_exception(error))


# --- URLs


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://user@host/db", "begins with mysql://"),
        ("hdfs://host/store.db", "name a file, or a database"),
        ("postgresql+psycopg2://user@host/db", "begins with postgresql.psycopg2://"),
        ("postgresql+psycopg://user@host", "cannot be read"),
        ("postgresql+psycopg://user@host:port/db", "cannot be read"),
        (f"postgresql+psycopg://user:{SECRET}@x@host/db", "as %40"),
        (f"postgresql+psycopg://user:{SECRET}:@host:9:9/db", "cannot be read"),
        (f"postgresql+psycopg:///user:{SECRET}@host/db", "cannot be read"),
        (f"postgresql+psycopg:/user:{SECRET}@host/db?host=x://y", "name a file, or a database"),
    ],
)
def test_a_url_that_names_no_database_is_refused(url, said):
    with pytest.raises(StoreError, match=said) as caught:
        SqlStore(url)
    assert SECRET not in told(caught.value)


def test_a_url_is_shown_without_what_may_be_secret():
    shown = dialect.Postgresql(f"postgresql://user:{SECRET}@host:5433/db?password={SECRET}&sslmode=require").name
    assert shown == "postgresql+psycopg://user@host:5433/db"


def test_without_the_driver_the_error_names_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r'pip install "headwater\[postgresql\]"'):
        SqlStore("postgresql+psycopg://user@host/db")


# --- servers


def test_a_server_that_does_not_answer_is_given_up(monkeypatch):
    monkeypatch.setitem(dialect.CONNECT, "connect_timeout", 2)
    assert 2 * dialect.CONNECT["connect_timeout"] <= 10, "localhost has two addresses"
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(StoreError, match="Check that the server answers"):
            SqlStore(f"postgresql+psycopg://user:{SECRET}@127.0.0.1:{silent.getsockname()[1]}/db")


def test_a_server_that_is_not_there_is_an_error_at_once():
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        with pytest.raises(StoreError, match=r"postgresql\+psycopg://user@127.0.0.1:\d+/db cannot be used .*refused"):
            SqlStore(f"postgresql+psycopg://user@127.0.0.1:{nobody.getsockname()[1]}/db")


def test_a_database_that_is_not_there_is_named(url):
    with pytest.raises(StoreError, match='database "nowhere" does not exist'):
        SqlStore(url.replace("/postgres?", "/nowhere?"))


def guarded(url: str, password: str | None) -> str:
    user = GUARDED[0] if password is None else f"{GUARDED[0]}:{password.replace(' ', '%20')}"
    return url.replace("postgres@", f"{user}@", 1)


@pytest.mark.parametrize("password", ["battery staple", "swordfish"])
def test_a_wrong_password_is_never_printed(url, password, monkeypatch, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    with pytest.raises(StoreError, match="PGPASSWORD") as caught:
        SqlStore(guarded(url, password))
    shown = CliRunner().invoke(main, ["status", "--store", guarded(url, password)])
    assert shown.exit_code == 1 and "guarded" in shown.output
    for said in (told(caught.value), shown.output, told(shown.exception), caplog.text, *capfd.readouterr()):
        assert password not in said and password.replace(" ", "%20") not in said


def test_the_password_may_come_from_where_libpq_looks(url, monkeypatch, tmp_path):
    with psycopg.connect(libpq(url), autocommit=True) as connection:
        connection.execute(f"GRANT CREATE ON DATABASE postgres TO {GUARDED[0]}")
    with pytest.raises(StoreError):
        SqlStore(guarded(url, None))
    with monkeypatch.context() as environment:
        environment.setenv("PGPASSWORD", GUARDED[1])
        SqlStore(guarded(url, None)).close()
    file = tmp_path / "pgpass"
    file.write_text(f"*:*:*:{GUARDED[0]}:{GUARDED[1]}\n")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    SqlStore(guarded(url, None)).close()


def test_a_command_makes_no_store(url):
    shown = CliRunner().invoke(main, ["status", "--store", url])
    assert shown.exit_code == 1 and "there is no store in postgresql+psycopg://postgres@" in shown.output
    SqlStore(url).close()
    assert "no engine is running" in CliRunner().invoke(main, ["status", "--store", url]).output


def test_a_store_is_of_one_catalog(url):
    store_location.opened(url, "thrift://one:9083").close()
    store_location.opened(url, "thrift://one:9083").close()
    with pytest.raises(StoreError, match="holds the views of the catalog thrift://one:9083"):
        store_location.opened(url, "thrift://two:9083")


def test_what_others_keep_in_the_database_is_left_alone(url):
    with psycopg.connect(libpq(url), autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS public.meta")
        connection.execute("CREATE TABLE public.meta (schema_version INT)")
        connection.execute("INSERT INTO public.meta VALUES (99)")
        SqlStore(url).close()
        assert connection.execute("SELECT * FROM public.meta").fetchall() == [(99,)]
        connection.execute("DROP TABLE public.meta")


# --- connections that break


def hurried(version: int) -> Hurried:
    return Hurried(1, version)


def killed(url: str) -> None:
    """Ends the server's end of every connection but this one."""
    with psycopg.connect(libpq(url), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )


def break_once(store, url: str, at: str, monkeypatch) -> None:
    """Breaks the next append's connection at some point of it."""
    once = iter((True,))
    breaks = lambda: next(once, False) and killed(url)  # noqa: E731
    commit = store._engine.dialect.do_commit

    def do_commit(connection):
        if at == "before the commit":
            breaks()
        commit(connection)
        if at == "after the commit" and next(once, False):
            connection.dbapi_connection.close()
            raise psycopg.OperationalError("the connection is lost")

    monkeypatch.setattr(store._engine.dialect, "do_commit", do_commit)

    def before(_connection, _cursor, statement, *_):
        if (at == "before the entry" and statement.startswith("INSERT INTO journal")) or (
            at == "at the lock" and "FOR UPDATE" in statement
        ):
            breaks()

    sa.event.listen(store._engine, "before_cursor_execute", before)


POINTS = ("at the lock", "before the entry", "before the commit", "after the commit")


@pytest.mark.parametrize("at", POINTS)
def test_an_append_whose_connection_breaks_is_applied_once(store, url, at, monkeypatch):
    store.append(hurried, 0)
    break_once(store, url, at, monkeypatch)
    given = []

    def build(version):
        given.append(version)
        return hurried(version)

    entry = store.append(build, 1)
    assert list(store.read(1)) == [entry] and set(given) == {entry.event.version}
    assert [each.seq for each in store.append_all([hurried, hurried], 2)] == [3, 4]


@pytest.mark.parametrize("at", POINTS)
def test_so_is_one_that_evicts(store, url, at, monkeypatch):
    for name in ("one", "two"):
        store.beat(name, 60_000)
    store.expire(1)
    break_once(store, url, at, monkeypatch)
    entry = store.append(hurried, 0, by=2, evicting=1)
    assert list(store.read()) == [entry] and [each.name for each in store.engines()] == ["two"]


def test_an_entry_of_another_engine_is_not_taken_for_one_s_own(store, url, monkeypatch):
    """The connection breaks, and another engine appends an equal event before the next try."""
    other = SqlStore(url)
    break_once(store, url, "before the commit", monkeypatch)
    serialise = store._dialect.serialise
    tries = iter((False, True))

    def late(connection):
        if next(tries):
            other.append(lambda _: Hurried(1, 7), 0)
        serialise(connection)

    monkeypatch.setattr(store._dialect, "serialise", late)
    with pytest.raises(Stale):
        store.append(lambda _: Hurried(1, 7), 0)
    assert store.last() == 1
    other.close()


def test_a_connection_that_broke_between_two_calls_is_made_anew(store, url):
    store.append(hurried, 0)
    killed(url)
    assert store.last() == 1
    killed(url)
    assert store.append(hurried, 1).seq == 2


def test_who_is_paused_inside_a_transaction_holds_the_others_up_for_seconds_only(store, url, monkeypatch):
    monkeypatch.setitem(dialect.OPTIONS, "idle_in_transaction_session_timeout", "500ms")
    paused = SqlStore(url)
    with pytest.raises(StoreError), paused._begin():
        store.append(hurried, 0)  # it would wait for ever: nobody else ends the transaction
    paused.close()
