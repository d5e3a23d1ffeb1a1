# `make help` lists the targets. Each target first installs the tools it needs.

SHELL := /bin/bash
CARGO_HOME ?= $(HOME)/.cargo
export PATH := $(CARGO_HOME)/bin:$(PATH):/usr/sbin:/sbin
CARGO ?= cargo
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup demo test checks stale-checks release-checks docs docs-test docs-update lint platforms features feature-pairs semver server-dumps server-tests fuzz python distributed remote static wheel packages soak bench-billion bench-load bench-index bench-check bench-existing bench-stores bench-entities bench-scaling bench-databases bench-generate bench-lookalike bench-search bench-python bench-distributed bench-servers bench-size profile mutants install clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Build a small command, load a first file, then generate, check and query 100 million rows (DEMO_ROWS=1e9 for more)
	@tools/setup build
	@CARGO='$(CARGO)' tools/demo

test: ## Everything a change must pass: formatting, clippy, all tests (SQLUICE_EFFORT=full for more random cases)
	@tools/test

checks: ## Run the slower checks whose inputs have changed, and write their new hashes, to be committed (ARGS=site for one check)
	@tools/checks run $(ARGS)

stale-checks: ## Run the slower checks whose inputs have changed, without writing their hashes (ARGS=site for one check)
	@tools/checks test $(ARGS)

release-checks: ## Checks that take hours: for releases, and for changes of formats, system calls, dependencies or the API
	@tools/release-checks $(ARGS)

docs: ## Build the documentation site in target/site: warnings are errors, and links are checked
	@tools/setup docs
	$(CARGO) doc --workspace --no-deps --locked --lib --examples
	tools/docs build
	@echo "open target/site/index.html"

docs-test: ## Run every command and code block of README and site, and test the site in Chromium (part of make test)
	@tools/setup test
	tools/docs test $(ARGS)

docs-update: ## Run the commands of README and site, and write their output into the pages (ARGS=WORD for some pages)
	@tools/setup test
	tools/docs update $(ARGS)

distributed: ## Tests with Ray, Spark and Dask (ARGS='-k dask' for some)
	@tools/setup distributed
	tools/distributed $(ARGS)

remote: ## Tests of objects in stores and files of web servers, with a server that speaks S3 (ARGS='targets' for some)
	@tools/setup test
	tools/remote $(ARGS)

python: ## Build the Python package, check its types and run its tests (ARGS='-k frames' for some)
	@tools/setup test
	tools/python $(ARGS)

static: ## Build the command as one static file for any Linux, in target/packages
	@tools/setup build
	tools/static

wheel: ## Build a wheel for any Linux with glibc 2.17, and a source distribution, in target/wheels
	@tools/setup test
	tools/wheel --source
	tools/wheel --for gnu

packages: ## Build the static command, its Debian package and the wheel, and test them on other Linux systems; check crates and workflows
	@tools/setup test
	tools/packages

lint: ## Check formatting, clippy and the docs, with warnings as errors
	@tools/setup build
	@tools/lint

platforms: ## Compile and link for macOS, and run the tests for Windows under wine (ARGS=windows for one of them)
	@tools/setup build
	tools/platforms $(ARGS)

features: ## Compile without features, with each alone and with all, with warnings as errors
	@tools/setup build
	tools/features

feature-pairs: ## Compile as features does, and with every pair of features
	@tools/setup build
	tools/features pairs

semver: ## Compare the public API with that of the last release (ARGS=revision for another)
	@tools/setup build
	tools/semver $(ARGS)

server-dumps: ## Load dumps of random MariaDB and PostgreSQL databases, and compare with the servers (ARGS='--only postgres' for one)
	@tools/setup test
	@tools/setup servers
	$(CARGO) build --locked -p sqluice-cli
	tools/server-dumps $(ARGS)

server-tests: ## Test loads from PostgreSQL and MariaDB servers: random schemas, snapshots, types, faults (ARGS='-k types' for some)
	@tools/setup test
	@tools/setup servers
	$(CARGO) build --locked -p sqluice-cli
	tools/server-tests $(ARGS)

fuzz: ## Run every fuzz target for ten minutes (ARGS='60 csv' for the target csv, for 60 seconds)
	@tools/setup build
	tools/fuzz $(or $(ARGS),600)

setup: ## Install the tools that the tests need and this machine lacks
	@tools/setup test

soak: export SQLUICE_EFFORT = soak
soak: setup ## Run the tests with many more random cases, rows and killed processes, for hours (SQLUICE_EFFORT=soak)
	tools/environment
	tools/rust-tests --workspace --locked
	tools/python python/tests
	@tools/setup distributed
	tools/distributed

bench-billion: ## Load one billion rows, and compare with plain writes to the disk and with SQLite (ARGS='--rows 100M' for fewer)
	@tools/setup build
	bench/billion $(ARGS)

bench-load: ## Load CSV, Parquet and NDJSON files, and compare with .import, ADBC, sqlite-utils and serde_json (ARGS='--scale 0.1 --no-ten' or '--only json' for less)
	@tools/setup bench
	bench/load $(ARGS)

bench-databases: ## Export, copy, merge and recover databases, and compare with sqlite3, ADBC and pyarrow (ARGS='merge --case index', 'recover' or 'export --scale 0.1')
	@tools/setup bench
	bench/databases $(or $(ARGS),export)

bench-index: ## Build keys and indexes, and compare with SQLite (ARGS='--rows-scale 0.01' or '--only area' for less)
	@tools/setup build
	bench/index $(ARGS)

bench-lookalike: ## Describe a database of 100M rows, and generate a lookalike of it (ARGS='--rows 1M --made 1M' for less)
	@tools/setup build
	bench/lookalike $(ARGS)

bench-search: ## Build full-text indexes, and compare with FTS5 (ARGS='--bytes 60M' or '--case trigram' for less)
	@tools/setup build
	bench/search $(ARGS)

bench-check: ## Check a database with indexes, and compare with SQLite's integrity_check (ARGS='--rows 1M' for less)
	@tools/setup build
	bench/check $(ARGS)

bench-existing: ## Append to, rewrite and merge into existing databases, and compare with SQLite (ARGS='--rows-scale 0.02' or '--only table' for less)
	@tools/setup build
	bench/existing $(ARGS)

bench-stores: ## Store a folder in one database, and compare with cp, sqlite3 -A and plain files (ARGS='--files 1000' or '--only read' for less)
	@tools/setup bench
	bench/stores $(ARGS)

bench-entities: ## Write entities thousands at a time, and compare with one statement for each (ARGS='--rows-scale 0.1' for fewer)
	@tools/setup build
	bench/entities $(ARGS)

bench-scaling: ## Run each verb on 1 to 16 cores, on a RAM disk and on a disk, and derive its serial share (ARGS='--rows 2000000' for fewer)
	@tools/setup build
	tools/static
	bench/scaling target/packages/sqluice-$$(uname -m)-unknown-linux-musl $(ARGS)

bench-generate: ## Generate a shop, and compare with prepared INSERTs; generate TPC-H, and compare with Parquet files (ARGS='--orders 100k --scale 0.01' or '--only tpch' for less)
	@tools/setup bench
	bench/generate $(ARGS)

bench-python: ## Load and read Python rows and frames, and compare with executemany, ADBC, pandas and connectorx (ARGS='--scale 0.05' for less)
	@tools/setup test
	bench/python $(ARGS)

bench-distributed: ## Write with Ray and Spark, and compare with sinks that only count rows and with SQLite; commit shards (ARGS='--only commit --rows 2000000' for less)
	@tools/setup distributed
	bench/distributed $(ARGS)

bench-servers: ## Load from PostgreSQL and MariaDB, and compare with their clients, db-to-sqlite and mysql-to-sqlite3 (ARGS='--rows 500000 --only postgres' for less)
	@tools/setup test
	@tools/setup servers
	bench/servers $(ARGS)

profile: ## Count instructions per row and byte by stage, and compare with the recorded counts (ARGS='csv user' for some, ARGS=--record to write them)
	@tools/setup profile
	@tools/step profile tools/profile $(ARGS)

bench-size: ## Measure released files, the command's start-up time and the number of dependencies (after `make packages`)
	bench/size

mutants: setup ## Run cargo-mutants on the format crate: a test must fail for every small change of its code
	@$(CARGO) mutants --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-mutants
	$(CARGO) mutants -p sqluice-format $(ARGS)

install: ## Install the command `sqluice`
	@tools/setup build
	$(CARGO) install --locked --path crates/sqluice-cli

clean: ## Remove everything that was built
	$(CARGO) clean
