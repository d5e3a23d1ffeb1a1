"""The blob store and the entity store behave like dicts, and the package has the same command as the Rust crate."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import MutableMapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqluice
from hypothesis import given
from hypothesis import strategies as st
from sqluice import field
from twin import query, sound

keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
changes = st.lists(st.tuples(st.sampled_from(["put", "remove", "get", "many"]), keys, st.binary(max_size=6_000)), max_size=12)


@given(changes=changes)
def test_a_blob_store_behaves_like_a_dict_and_keeps_its_content(db: Path, changes: list[tuple[str, str, bytes]]) -> None:
    db.unlink(missing_ok=True)
    model: dict[str, bytes] = {}
    with sqluice.BlobStore(db) as store:
        assert isinstance(store, MutableMapping)
        for what, key, blob in changes:
            if what == "put":
                store[key] = model[key] = blob
            elif what == "many":
                assert store.put_many({key: blob, key + "x": blob}) == 2
                model.update({key: blob, key + "x": blob})
            elif what == "remove":
                assert store.pop(key, None) == model.pop(key, None)
            else:
                assert store.get(key) == model.get(key)
        assert len(store) == len(model)
        assert list(store) == sorted(model, key=str.encode)
        assert dict(store) == model
    with sqluice.BlobStore(db, read_only=True) as again:
        assert dict(again.pairs()) == model
    assert sound(db)


def test_a_blob_store_reads_ranges_and_sizes_and_raises_key_errors(db: Path) -> None:
    with sqluice.BlobStore(db, journal="wal", durability="normal", page_size=8192) as store:
        store["a"] = bytes(range(200)) * 100
        assert (store.range("a", 10, 15), store.size("a")) == (bytes(range(10, 15)), 20_000)
        assert "a" in store and b"a" in store and "b" not in store and 5 not in store
        for missing in (lambda: store["b"], lambda: store.size("b"), lambda: store.range("b", 0, 1), lambda: store.__delitem__("b")):
            with pytest.raises(KeyError):
                missing()
        assert store.remove_many(["a", "b"]) == 1
    with pytest.raises(sqluice.UsageError, match="closed"):
        store["a"]
    assert query(db, "PRAGMA page_size") == [(8192,)]


def test_pairs_of_a_large_blob_store_are_in_key_order(db: Path) -> None:
    blobs = {f"{number:05}": os.urandom(20_000) for number in range(300)}
    with sqluice.BlobStore(db) as store:
        store.put_many(blobs)
        assert list(store.pairs()) == sorted(blobs.items())


def test_threads_can_share_a_blob_store_and_a_forked_process_is_refused(db: Path) -> None:
    with sqluice.BlobStore(db) as store:
        store.put_many({str(number): str(number).encode() for number in range(500)})
        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(lambda number: store[str(number)] == str(number).encode(), range(500)))
        child = os.fork()
        if child == 0:
            try:
                store["1"]
                os._exit(1)
            except sqluice.UsageError:
                os._exit(0)
            except BaseException:
                os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        assert store["1"] == b"1"


people = st.fixed_dictionaries({"id": st.integers(0, 9), "age": st.one_of(st.none(), st.integers(0, 99)), "home": st.fixed_dictionaries({"city": st.sampled_from(["Oslo", "Rome"])})})


@given(batches=st.lists(st.lists(people, max_size=8), max_size=4), age=st.integers(0, 99))
def test_an_entity_store_answers_queries_like_a_dict_of_entities(db: Path, batches: list[list[dict[str, Any]]], age: int) -> None:
    for name in (db, db.with_name("t.db-wal"), db.with_name("t.db-shm")):
        name.unlink(missing_ok=True)
    kind = sqluice.EntityStore(db).define("person", key="id", key_type=int, index={"age": "$.age", "city": "$.home.city"})
    model: dict[int, dict[str, Any]] = {}
    for batch in batches:
        written = kind.write_many(batch)
        assert written.new + written.changed + written.same == len({person["id"] for person in batch})
        model.update((person["id"], person) for person in batch)
    assert kind.count() == len(model)
    assert kind.read_many(range(10)) == [model.get(number) for number in range(10)]
    older = [person for person in model.values() if person["age"] is not None and person["age"] >= age]
    assert kind.query(field("age") >= age, order="key") == sorted(older, key=lambda person: person["id"])
    there = [person for person in older if person["home"]["city"] == "Oslo"]
    assert kind.count((field("age") >= age) & field("city").is_("Oslo")) == len(there)
    assert kind.count(field("age").is_(None)) == sum(person["age"] is None for person in model.values())
    assert kind.query(order=["-key"], limit=2, skip=1) == [model[number] for number in sorted(model, reverse=True)[1:3]]
    assert kind.delete_where(field("city").one_of(["Oslo"])) == sum(p["home"]["city"] == "Oslo" for p in model.values())
    assert kind.count(field("city").prefix("Os")) == 0


def test_an_entity_keeps_the_order_of_members_and_is_refused_without_a_key(db: Path) -> None:
    kind = sqluice.EntityStore(db).define("person", key="id", unique=["mail"])
    kind.write({"z": 1, "id": "ann", "a": 2.50, "mail": "x"})
    assert query(db, "SELECT value FROM person") == [('{"z":1,"id":"ann","a":2.5,"mail":"x"}',)]
    assert list(kind.read("ann") or {}) == ["z", "id", "a", "mail"]
    for wrong in ({}, {"id": 5}, {"id": None}):
        with pytest.raises(sqluice.InputError, match="key"):
            kind.write(wrong)
    with pytest.raises(sqluice.Error, match="unique|UNIQUE|mail"):
        kind.write({"id": "bob", "mail": "x"})
    with pytest.raises(ValueError):
        kind.write({"id": "c", "x": float("nan")})
    assert kind.count() == 1 and kind.delete("ann", "nobody") == 1


def test_entities_may_be_objects_of_a_class(db: Path) -> None:
    import dataclasses

    @dataclasses.dataclass
    class Town:
        name: str
        people: int

    store = sqluice.EntityStore(db)
    towns = store.define("town", key="name", index=["people"], to_json=lambda town: json.dumps(dataclasses.asdict(town)), from_json=lambda text: Town(**json.loads(text)))
    towns.write_many([Town("Oslo", 700_000), Town("Bari", 300_000)])
    assert towns.query(field("people") > 500_000) == [Town("Oslo", 700_000)]


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "sqluice", *map(str, arguments)], capture_output=True, text=True, check=False)


def test_python_m_sqluice_runs_the_command(db: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,x\n")
    done = command("load", db, tmp_path / "a.csv", "--json")
    assert (done.returncode, json.loads(done.stdout)["rows"]) == (0, 1)
    assert query(db, "SELECT * FROM a") == [(1, "x")]
    assert command("--version").stdout.startswith(f"sqluice {sqluice.__version__} (SQLite {sqluice.sqlite_version})")
    assert command("check", db).returncode == 0
    wrong = command("load", db)
    assert wrong.returncode == 2 and wrong.stdout == "" and "hint: sqluice load" in wrong.stderr
    refused = command("load", db, tmp_path / "a.csv")
    assert refused.returncode == 1 and "already has a table a" in refused.stderr and "--append" in refused.stderr
