# `make help` lists what there is to do. Everything installs what it needs.

SHELL := /bin/bash
CARGO_HOME ?= $(HOME)/.cargo
export PATH := $(CARGO_HOME)/bin:$(PATH):/usr/sbin:/sbin
CARGO ?= cargo
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup demo test checks stale-checks release-checks docs docs-test docs-update lint platforms features feature-pairs semver server-dumps server-tests fuzz python distributed remote static wheel packages soak bench-billion bench-load bench-index bench-check bench-existing bench-stores bench-entities bench-scaling bench-databases bench-generate bench-lookalike bench-search bench-python bench-distributed bench-servers bench-size profile mutants install clean

help: ## List these
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## A small command, a first load, then 100 million rows: made, checked, looked at (DEMO_ROWS=1e9 for more)
	@tools/setup build
	@CARGO='$(CARGO)' tools/demo

test: ## Everything a change must pass: formatting, clippy, all tests (SQLUICE_EFFORT=full tries harder)
	@tools/test

checks: ## The checks that only some changes can break, if their inputs have changed; renews their hashes, to be committed (ARGS=site for some)
	@tools/checks run $(ARGS)

stale-checks: ## The same, and renews nothing
	@tools/checks test $(ARGS)

release-checks: ## What a change of formats, system calls, dependencies or the API must pass as well, and every release: hours
	@tools/release-checks $(ARGS)

docs: ## The documentation site, in target/site: warnings are errors, and links are checked
	@tools/setup docs
	$(CARGO) doc --workspace --no-deps --locked --lib --examples
	tools/docs build
	@echo "open target/site/index.html"

docs-test: ## Runs every command and code block of README and site, and looks at the site in Chromium (part of make test)
	@tools/setup test
	tools/docs test $(ARGS)

docs-update: ## Rewrites the output that README and site show, with that of a run (ARGS=WORD for some pages)
	@tools/setup test
	tools/docs update $(ARGS)

distributed: ## Tests with Ray, Spark and Dask (ARGS='-k dask' for some)
	@tools/setup distributed
	tools/distributed $(ARGS)

remote: ## Tests of objects in stores and files of web servers, with a server that speaks S3 (ARGS='targets' for some)
	@tools/setup test
	tools/remote $(ARGS)

python: ## The Python package: built, its types checked, its tests run (ARGS='-k frames' for some)
	@tools/setup test
	tools/python $(ARGS)

static: ## The command as one static file for any Linux, in target/packages
	@tools/setup build
	tools/static

wheel: ## The Python package as a wheel for any Linux with glibc 2.17, and as a source distribution, in target/wheels
	@tools/setup test
	tools/wheel --source
	tools/wheel --for gnu

packages: ## The static command, its Debian package and the wheel: built, checked, tried in other systems; the crates and workflows checked
	@tools/setup test
	tools/packages

lint: ## Formatting, clippy and the docs, warnings as errors
	@tools/setup build
	@tools/lint

platforms: ## macOS compiled and linked, Windows by tests under wine (ARGS=windows for one of them)
	@tools/setup build
	tools/platforms $(ARGS)

features: ## No feature, each alone, all of them: they compile without warnings
	@tools/setup build
	tools/features

feature-pairs: ## The same, and every two features together
	@tools/setup build
	tools/features pairs

semver: ## The public API beside that of the last release (ARGS=revision for another)
	@tools/setup build
	tools/semver $(ARGS)

server-dumps: ## Dumps of random databases of MariaDB and PostgreSQL loaded, and compared with the servers (ARGS='--only postgres')
	@tools/setup test
	@tools/setup servers
	$(CARGO) build --locked -p sqluice-cli
	tools/server-dumps $(ARGS)

server-tests: ## Databases of PostgreSQL and MariaDB loaded: random schemas, one snapshot, types, faults (ARGS='-k types' for some)
	@tools/setup test
	@tools/setup servers
	$(CARGO) build --locked -p sqluice-cli
	tools/server-tests $(ARGS)

fuzz: ## Fuzz targets against their slow twins, ten minutes each (ARGS='60 csv' for less)
	@tools/setup build
	tools/fuzz $(or $(ARGS),600)

setup: ## Install what the tests need and this machine lacks
	@tools/setup test

soak: export SQLUICE_EFFORT = soak
soak: setup ## The tests with many more kills, tries, random cases and rows: hours (SQLUICE_EFFORT=soak)
	tools/environment
	tools/rust-tests --workspace --locked
	tools/python python/tests
	@tools/setup distributed
	tools/distributed

bench-billion: ## One billion rows beside the bare disk and SQLite (ARGS='--rows 100M' for fewer)
	@tools/setup build
	bench/billion $(ARGS)

bench-load: ## CSV, Parquet and NDJSON files beside .import, ADBC, sqlite-utils and serde_json (ARGS='--scale 0.1 --no-ten' or '--only json' for less)
	@tools/setup bench
	bench/load $(ARGS)

bench-databases: ## Exports, copies and merges of databases beside sqlite3, ADBC and pyarrow (ARGS='merge --case index' or 'export --scale 0.1')
	@tools/setup bench
	bench/databases $(or $(ARGS),export)

bench-index: ## Keys and indexes beside SQLite (ARGS='--rows-scale 0.01' or '--only area' for less)
	@tools/setup build
	bench/index $(ARGS)

bench-lookalike: ## A database of 100M rows described, and made again (ARGS='--rows 1M --made 1M' for less)
	@tools/setup build
	bench/lookalike $(ARGS)

bench-search: ## Full-text indexes beside FTS5 (ARGS='--bytes 60M' or '--case trigram' for less)
	@tools/setup build
	bench/search $(ARGS)

bench-check: ## A database with indexes: check beside SQLite's integrity_check (ARGS='--rows 1M' for less)
	@tools/setup build
	bench/check $(ARGS)

bench-existing: ## Existing databases, beside SQLite's ways to change them (ARGS='--rows-scale 0.02' or '--only table' for less)
	@tools/setup build
	bench/existing $(ARGS)

bench-stores: ## A folder as one database beside cp, sqlite3 -A and files (ARGS='--files 1000' or '--only read' for less)
	@tools/setup bench
	bench/stores $(ARGS)

bench-entities: ## Entities written by the thousand beside a statement for each (ARGS='--rows-scale 0.1' for fewer)
	@tools/setup build
	bench/entities $(ARGS)

bench-scaling: ## Each verb on 1 to 16 cores, in a RAM disk and on disk, with its serial share (ARGS='--rows 2000000' for fewer)
	@tools/setup build
	tools/static
	bench/scaling target/packages/sqluice-$$(uname -m)-unknown-linux-musl $(ARGS)

bench-generate: ## A shop beside prepared INSERTs, TPC-H beside Parquet files (ARGS='--orders 100k --scale 0.01' or '--only tpch' for less)
	@tools/setup bench
	bench/generate $(ARGS)

bench-python: ## Rows of Python and frames, in and out, beside executemany, ADBC, pandas and connectorx (ARGS='--scale 0.05' for less)
	@tools/setup test
	bench/python $(ARGS)

bench-distributed: ## Ray and Spark beside sinks that count and their own SQLite; the commit of shards (ARGS='--only commit --rows 2000000' for less)
	@tools/setup distributed
	bench/distributed $(ARGS)

bench-servers: ## PostgreSQL and MariaDB beside their own clients, db-to-sqlite and mysql-to-sqlite3 (ARGS='--rows 500000 --only postgres' for less)
	@tools/setup test
	@tools/setup servers
	bench/servers $(ARGS)

profile: ## Instructions a row and a byte, by stage, of fixed inputs, beside those recorded (ARGS='csv user' for some, ARGS=--record to write them)
	@tools/setup profile
	@tools/step profile tools/profile $(ARGS)

bench-size: ## Sizes of what is released, the command's start-up time, the number of dependencies (after `make packages`)
	bench/size

mutants: setup ## Break the format crate in every small way; a test must notice
	@$(CARGO) mutants --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-mutants
	$(CARGO) mutants -p sqluice-format $(ARGS)

install: ## Install the command `sqluice`
	@tools/setup build
	$(CARGO) install --locked --path crates/sqluice-cli

clean: ## Remove everything that was built
	$(CARGO) clean
