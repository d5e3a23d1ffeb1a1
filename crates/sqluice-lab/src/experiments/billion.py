"""Inserts the billion-row table in Python, or only generates its rows ("busy"). Prints the seconds; "busy" also the row count and a sum."""

import sqlite3
import sys
import time

BATCH = 100_000
MASK = (1 << 64) - 1
PRAGMAS = ("journal_mode = OFF", "synchronous = OFF", "cache_size = 1000000", "locking_mode = EXCLUSIVE", "temp_store = MEMORY")


def user(row):
    z = ((row + 1) * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    z ^= z >> 31
    return ("%06d" % (z % 1_000_000), (5, 10, 15)[(z >> 32) % 3], z >> 63)


def busy(rows):
    total = 0
    start = time.perf_counter()
    for row in range(rows):
        area, age, active = user(row)
        total += int(area) + age + active
    print(time.perf_counter() - start, rows, total & MASK)


def fill(file, rows, batch):
    db = sqlite3.connect(file, isolation_level=None)
    for pragma in PRAGMAS:
        db.execute("PRAGMA " + pragma).fetchall()
    db.execute(
        "CREATE TABLE user (id INTEGER NOT NULL PRIMARY KEY, area CHAR(6), age INTEGER NOT NULL, active INTEGER NOT NULL)"
    )
    insert = "INSERT INTO user (area, age, active) VALUES (?, ?, ?)"
    start = time.perf_counter()
    db.execute("BEGIN")
    if batch:
        for first in range(0, rows, BATCH):
            db.executemany(insert, [user(row) for row in range(first, min(first + BATCH, rows))])
    else:
        for row in range(rows):
            db.execute(insert, user(row))
    db.execute("COMMIT")
    db.close()
    print(time.perf_counter() - start)


what, file, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
if what == "busy":
    busy(rows)
else:
    fill(file, rows, what == "batched")
