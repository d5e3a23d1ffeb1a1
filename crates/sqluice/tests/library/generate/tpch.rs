//! Two tables of TPC-H, made here: every value is what SQLite stores when each field is bound as text.
#![cfg(feature = "load")]

use std::path::Path;

use crate::support::files::Home;
use crate::support::tpch;
use crate::support::twin::assert_equals_twin;
use sqluice::schema::Schema;

/// The columns as INTEGER, REAL and TEXT.
const PLAIN: &str = "
    CREATE TABLE lineitem (
        l_orderkey INTEGER, l_partkey INTEGER, l_suppkey INTEGER, l_linenumber INTEGER, l_quantity REAL,
        l_extendedprice REAL, l_discount REAL, l_tax REAL, l_returnflag TEXT, l_linestatus TEXT, l_shipdate TEXT,
        l_commitdate TEXT, l_receiptdate TEXT, l_shipinstruct TEXT, l_shipmode TEXT, l_comment TEXT);
    CREATE TABLE orders (
        o_orderkey INTEGER PRIMARY KEY, o_custkey INTEGER, o_orderstatus TEXT, o_totalprice REAL, o_orderdate TEXT,
        o_orderpriority TEXT, o_clerk TEXT, o_shippriority INTEGER, o_comment TEXT);";

/// The types of the TPC-H specification: decimals and dates have the affinity NUMERIC.
const SPECIFIED: &str = "
    CREATE TABLE lineitem (
        l_orderkey BIGINT NOT NULL, l_partkey BIGINT NOT NULL, l_suppkey BIGINT NOT NULL,
        l_linenumber INTEGER NOT NULL, l_quantity DECIMAL(15,2) NOT NULL, l_extendedprice DECIMAL(15,2) NOT NULL,
        l_discount DECIMAL(15,2) NOT NULL, l_tax DECIMAL(15,2) NOT NULL, l_returnflag CHAR(1) NOT NULL,
        l_linestatus CHAR(1) NOT NULL, l_shipdate DATE NOT NULL, l_commitdate DATE NOT NULL,
        l_receiptdate DATE NOT NULL, l_shipinstruct CHAR(25) NOT NULL, l_shipmode CHAR(10) NOT NULL,
        l_comment VARCHAR(44) NOT NULL);
    CREATE TABLE orders (
        o_orderkey BIGINT NOT NULL, o_custkey BIGINT NOT NULL, o_orderstatus CHAR(1) NOT NULL,
        o_totalprice DECIMAL(15,2) NOT NULL, o_orderdate DATE NOT NULL, o_orderpriority CHAR(15) NOT NULL,
        o_clerk CHAR(15) NOT NULL, o_shippriority INTEGER NOT NULL, o_comment VARCHAR(79) NOT NULL);";

fn compare(table: &str, write: fn(&Path) -> usize) {
    let home = Home::new();
    let file = home.path(&format!("{table}.csv"));
    let rows = write(&file);
    for declared in [PLAIN, SPECIFIED] {
        let schema = Schema::parse(declared.to_owned(), Path::new("tpch.sql")).unwrap();
        assert_equals_twin(&file, rows, Some(&schema));
    }
    assert_equals_twin(&file, rows, None);
}

#[test]
fn line_items_of_tpch_are_stored_as_sqlite_stores_them() {
    compare("lineitem", tpch::write_line_items);
}

#[test]
fn orders_of_tpch_are_stored_as_sqlite_stores_them() {
    compare("orders", tpch::write_orders);
}
