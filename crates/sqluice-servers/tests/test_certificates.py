"""Certificates of servers and users, with each mode of encryption. The servers of these tests listen on 127.0.0.1."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from server import Done, load

PASSWORD = "hunter2-pa55word"


def openssl(*arguments: object) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


def certificate(folder: Path, name: str, subject: str, *, host: str = "", days: int = 2, is_own: bool = False) -> None:
    """Makes a key and a certificate, signed by the authority of the folder, or by the key itself if `is_own`."""
    key, request, made = (folder / f"{name}.{ending}" for ending in ("key", "csr", "pem"))
    openssl("req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", request, "-subj", f"/CN={subject}")
    extensions = folder / f"{name}.ext"
    extensions.write_text(f"subjectAltName=DNS:{host}\n" if host else "basicConstraints=CA:FALSE\n")
    signed_by = ["-signkey", key] if is_own else ["-CA", folder / "authority.pem", "-CAkey", folder / "authority.key", "-CAcreateserial"]
    openssl("x509", "-req", "-in", request, *signed_by, "-out", made, "-days", days, "-extfile", extensions)


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", folder / "authority.key", "-out", folder / "authority.pem", "-days", 2, "-subj", "/CN=authority")
    certificate(folder, "good", "localhost", host="localhost")
    certificate(folder, "expired", "localhost", host="localhost", days=-1)
    certificate(folder, "own", "localhost", host="localhost", is_own=True)
    certificate(folder, "other", "other.example", host="other.example")
    certificate(folder, "ann", "ann")
    certificate(folder, "stranger", "ann", is_own=True)
    return folder


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def install(server: Any, certificates: Path, name: str) -> None:
    """Gives the server another certificate."""
    for ending in ("pem", "key"):
        to = server.home / f"server.{ending}"
        shutil.copy(certificates / f"{name}.{ending}", to)
        to.chmod(0o600)
        if os.geteuid() == 0:
            shutil.chown(to, "nobody")


@pytest.fixture(scope="session", params=["Postgres", "MariaDb"])
def encrypting(request: pytest.FixtureRequest, server_dumps: ModuleType, certificates: Path) -> Iterator[Any]:
    """A server that encrypts, with a table and the users ann, who needs a certificate, and bob, who has a password."""
    kind = getattr(server_dumps, request.param)
    if any(shutil.which(program) is None for program in kind.programs):
        pytest.skip(f"{kind.name} is not installed")
    port = free_port()

    class Encrypting(kind):  # type: ignore[misc, valid-type]
        def command(self) -> list[str]:
            files = [self.home / "server.pem", self.home / "server.key", self.home / "authority.pem"]
            if self.name == "postgres":
                settings = ["listen_addresses=127.0.0.1", f"port={port}", "ssl=on", *(f"{key}={file}" for key, file in zip(("ssl_cert_file", "ssl_key_file", "ssl_ca_file"), files, strict=True))]
                rules = "local all all trust\nhostssl all ann 127.0.0.1/32 cert\nhost all bob 127.0.0.1/32 scram-sha-256\n"
                (self.home / "data/pg_hba.conf").write_text(rules)
                return [*super().command(), *(word for setting in settings for word in ("-c", setting))]
            options = [f"--ssl-{key}={file}" for key, file in zip(("cert", "key", "ca"), files, strict=True)]
            words = [word for word in super().command() if word != "--skip-networking"]
            return [*words, f"--port={port}", "--bind-address=127.0.0.1", *options]

        def client(self, sql: str, database: str = "") -> str:
            os.environ["PGPORT"] = str(port)
            try:
                found: str = super().client(sql, database) if database else super().client(sql)
                return found
            finally:
                del os.environ["PGPORT"]

        def reload(self) -> None:
            self.client("SELECT pg_reload_conf();" if self.name == "postgres" else "FLUSH SSL;")
            # PostgreSQL returns before the new settings apply, so the test waits.
            time.sleep(0.5)

        def address(self, user: str, host: str = "localhost", **settings: object) -> str:
            pairs = "&".join(f"{key.replace('_', '' if self.name == 'postgres' else '-')}={value}" for key, value in settings.items())
            return f"{'postgres' if self.name == 'postgres' else 'mysql'}://{user}@{host}:{port}/shop?{pairs}"

    # The user of the server can't open the folders of pytest, so the server has another temporary folder.
    with tempfile.TemporaryDirectory(prefix="servers-") as folder:
        server = Encrypting(server_dumps.home_of(kind, Path(folder)))
        shutil.copy(certificates / "authority.pem", server.home)
        (server.home / "authority.pem").chmod(0o644)
        install(server, certificates, "good")
        try:
            server.start()
            if server.name == "postgres":
                server.client(f"CREATE ROLE ann LOGIN; CREATE ROLE bob LOGIN PASSWORD '{PASSWORD}';\nCREATE DATABASE shop;")
                server.client("CREATE TABLE t (a int); INSERT INTO t VALUES (7); GRANT SELECT ON t TO ann, bob;", "shop")
            else:
                server.client("CREATE DATABASE shop; CREATE TABLE shop.t (a int); INSERT INTO shop.t VALUES (7);")
                server.client(f"CREATE USER bob@'%' IDENTIFIED BY '{PASSWORD}'; GRANT ALL ON shop.* TO bob@'%';")
                server.client("CREATE USER ann@'%' IDENTIFIED BY '' REQUIRE X509; GRANT ALL ON shop.* TO ann@'%';")
            yield server
        finally:
            server.stop()


def loads(server: Any, database: Path, user: str = "bob", host: str = "localhost", **settings: object) -> Done:
    environment = {} if user == "ann" else {"PGPASSWORD": PASSWORD, "MYSQL_PWD": PASSWORD}
    done = load("-q", database, server.address(user, host, **settings), environment={"HOME": str(database.parent), **environment})
    assert PASSWORD not in done.stdout + done.stderr
    assert (done.returncode == 0) == database.exists(), done.stderr
    database.unlink(missing_ok=True)
    return done


# For each server: the modes that verify nothing, the mode that verifies the authority, and the mode that also verifies the name.
MODES = {
    "postgres": (["disable", "allow", "prefer", "require"], "verify-ca", "verify-full"),
    "mariadb": (["DISABLED", "PREFERRED", "REQUIRED"], "VERIFY_CA", "VERIFY_IDENTITY"),
}


@pytest.mark.parametrize(
    ("name", "of_authority", "of_name"),
    [
        ("good", None, None),
        ("other", None, "is not for localhost"),
        ("expired", "has expired", "has expired"),
        ("own", "is not signed by a known authority", "is not signed by a known authority"),
    ],
)
def test_the_mode_decides_if_the_authority_and_the_name_of_a_server_certificate_are_verified(encrypting: Any, certificates: Path, tmp_path: Path, name: str, of_authority: str | None, of_name: str | None) -> None:
    install(encrypting, certificates, name)
    encrypting.reload()
    authority = certificates / "authority.pem"
    key, root = "ssl_mode", "ssl_root_cert" if encrypting.name == "postgres" else "ssl_ca"
    none, with_authority, with_name = MODES[encrypting.name]
    expected: list[tuple[dict[str, object], str | None]] = [({key: mode}, None) for mode in none]
    expected += [({key: with_authority, root: authority}, of_authority), ({key: with_name, root: authority}, of_name)]
    # As in the clients of the servers, a given authority is verified although the mode does not require it.
    expected.append(({key: "require", root: authority} if encrypting.name == "postgres" else {root: authority}, of_authority))
    for settings, cause in expected:
        done = loads(encrypting, tmp_path / "x.db", **settings)
        assert (done.returncode == 0) == (cause is None), f"{settings}: {done.stderr}"
        assert cause is None or cause in done.stderr, f"{settings}: {done.stderr}"
    # The authorities of this machine do not know the certificate.
    assert loads(encrypting, tmp_path / "x.db", **{key: with_name}).returncode != 0


def test_a_user_logs_in_only_with_a_certificate_of_the_authority_and_the_matching_key(encrypting: Any, certificates: Path, tmp_path: Path) -> None:
    install(encrypting, certificates, "good")
    encrypting.reload()
    key = "ssl_mode"
    mode = "require" if encrypting.name == "postgres" else "REQUIRED"
    files = {"ssl_cert": certificates / "ann.pem", "ssl_key": certificates / "ann.key"}
    done = loads(encrypting, tmp_path / "x.db", "ann", **{key: mode}, **files)
    assert done.returncode == 0, done.stderr
    assert loads(encrypting, tmp_path / "x.db", "ann", **{key: mode}).returncode != 0
    stranger = {"ssl_cert": certificates / "stranger.pem", "ssl_key": certificates / "stranger.key"}
    assert loads(encrypting, tmp_path / "x.db", "ann", **{key: mode}, **stranger).returncode != 0
    # The key of another certificate, and a certificate without a key.
    mixed = loads(encrypting, tmp_path / "x.db", "ann", **{key: mode, "ssl_cert": files["ssl_cert"], "ssl_key": stranger["ssl_key"]})
    assert "cannot use the certificate" in mixed.stderr
    alone = loads(encrypting, tmp_path / "x.db", "ann", **{key: mode, "ssl_cert": files["ssl_cert"]})
    assert "key" in alone.stderr and alone.returncode != 0


def test_a_key_file_that_others_may_read_is_refused_for_postgres_and_accepted_for_mariadb(encrypting: Any, certificates: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared.key"
    shutil.copy(certificates / "ann.key", shared)
    shared.chmod(0o644)
    settings: dict[str, object] = {"ssl_mode": "require" if encrypting.name == "postgres" else "REQUIRED", "ssl_cert": certificates / "ann.pem", "ssl_key": shared}
    refused = loads(encrypting, tmp_path / "x.db", "ann", **settings)
    if encrypting.name == "mariadb":
        # The clients of MariaDB read any key.
        assert refused.returncode == 0, refused.stderr
        return
    assert f"chmod 0600 {shared}" in refused.stderr
    shared.chmod(0o600)
    assert loads(encrypting, tmp_path / "x.db", "ann", **settings).returncode == 0
