//! Defines the tables of TPC-H: their numbers of rows and their columns.

use sqluice_core::batch::ROWS_MAX;
use sqluice_core::error::Result;
use sqluice_core::source::Sink;
use tpchgen::decimal::TPCHDecimal;
use tpchgen::generators as rows;

use super::columns::{Columns, Row};

/// A table of TPC-H.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Region,
    Nation,
    Supplier,
    Part,
    Customer,
    PartSupp,
    Orders,
    LineItem,
}

impl Table {
    /// All tables in the order of the schema: a table comes after the tables that it references.
    pub(super) const ALL: [Table; 8] = [
        Table::Region,
        Table::Nation,
        Table::Supplier,
        Table::Part,
        Table::Customer,
        Table::PartSupp,
        Table::Orders,
        Table::LineItem,
    ];

    pub(super) fn columns(self) -> usize {
        match self {
            Table::Region => 3,
            Table::Nation => 4,
            Table::Supplier => 7,
            Table::Part => 9,
            Table::Customer => 8,
            Table::PartSupp => 5,
            Table::Orders => 9,
            Table::LineItem => 16,
        }
    }

    /// Returns the number of units of a table at scale 1, or `None` if the number of rows does not depend on the scale. A unit is one row; in
    /// `partsupp` it is all rows of a part, and in `lineitem` all lines of an order.
    pub(super) fn units(self) -> Option<i32> {
        match self {
            Table::Region | Table::Nation => None,
            Table::Supplier => Some(10_000),
            Table::Customer => Some(150_000),
            Table::Part | Table::PartSupp => Some(200_000),
            Table::Orders | Table::LineItem => Some(1_500_000),
        }
    }

    /// Returns the average number of rows in a unit of [`Table::units`].
    pub(super) fn rows_per_unit(self) -> u64 {
        match self {
            Table::PartSupp | Table::LineItem => 4,
            _ => 1,
        }
    }

    /// Returns the average size of a row in the database file in bytes, including its index entries.
    pub(super) fn row_bytes(self) -> u64 {
        match self {
            Table::Region => 100,
            Table::Nation => 110,
            Table::Supplier => 150,
            Table::Part => 130,
            Table::Customer => 170,
            Table::PartSupp => 160,
            Table::Orders => 115,
            Table::LineItem => 150,
        }
    }

    /// Generates part `part` of `parts`, starting at 1, and passes its rows to `sink`.
    pub(super) fn make(self, scale: f64, part: i32, parts: i32, sink: &mut dyn Sink) -> Result<()> {
        let columns = Columns::new(self.columns());
        match self {
            Table::Region => {
                give(rows::RegionGenerator::new(scale, part, parts).iter(), region, columns, sink)
            }
            Table::Nation => {
                give(rows::NationGenerator::new(scale, part, parts).iter(), nation, columns, sink)
            }
            Table::Supplier => {
                give(rows::SupplierGenerator::new(scale, part, parts).iter(), supplier, columns, sink)
            }
            Table::Part => give(rows::PartGenerator::new(scale, part, parts).iter(), part_row, columns, sink),
            Table::Customer => {
                give(rows::CustomerGenerator::new(scale, part, parts).iter(), customer, columns, sink)
            }
            Table::PartSupp => {
                give(rows::PartSuppGenerator::new(scale, part, parts).iter(), part_supp, columns, sink)
            }
            Table::Orders => give(rows::OrderGenerator::new(scale, part, parts).iter(), order, columns, sink),
            Table::LineItem => {
                give(rows::LineItemGenerator::new(scale, part, parts).iter(), line_item, columns, sink)
            }
        }
    }
}

fn give<R>(
    rows: impl Iterator<Item = R>,
    put: fn(&R, &mut Row<'_>),
    mut columns: Columns,
    sink: &mut dyn Sink,
) -> Result<()> {
    for row in rows {
        put(&row, &mut columns.row());
        if columns.rows() == ROWS_MAX {
            sink.rows(&columns.batch()).map_err(|refused| refused.first().1)?;
            columns.clear();
        }
    }
    match columns.rows() {
        0 => Ok(()),
        _ => sink.rows(&columns.batch()).map_err(|refused| refused.first().1),
    }
}

fn region(r: &rows::Region<'_>, row: &mut Row<'_>) {
    row.int(r.r_regionkey).text(r.r_name).comment(r.r_comment);
}

fn nation(n: &rows::Nation<'_>, row: &mut Row<'_>) {
    row.int(n.n_nationkey).text(n.n_name).int(n.n_regionkey).comment(n.n_comment);
}

fn supplier(s: &rows::Supplier, row: &mut Row<'_>) {
    row.int(s.s_suppkey).shown(s.s_name).shown(&s.s_address).int(s.s_nationkey);
    // Words are replaced in the comments of some suppliers, and these comments are not in the pool.
    row.shown(&s.s_phone).decimal(s.s_acctbal).text(&s.s_comment);
}

fn part_row(p: &rows::Part<'_>, row: &mut Row<'_>) {
    row.int(p.p_partkey).shown(&p.p_name).shown(p.p_mfgr).shown(p.p_brand).text(p.p_type);
    row.int(p.p_size).text(p.p_container).decimal(p.p_retailprice).comment(p.p_comment);
}

fn customer(c: &rows::Customer<'_>, row: &mut Row<'_>) {
    row.int(c.c_custkey).shown(c.c_name).shown(&c.c_address).int(c.c_nationkey);
    row.shown(&c.c_phone).decimal(c.c_acctbal).text(c.c_mktsegment).comment(c.c_comment);
}

fn part_supp(ps: &rows::PartSupp<'_>, row: &mut Row<'_>) {
    row.int(ps.ps_partkey).int(ps.ps_suppkey).int(ps.ps_availqty);
    row.decimal(ps.ps_supplycost).comment(ps.ps_comment);
}

fn order(o: &rows::Order<'_>, row: &mut Row<'_>) {
    row.int(o.o_orderkey).int(o.o_custkey).text(o.o_orderstatus.as_str()).decimal(o.o_totalprice);
    row.date(o.o_orderdate).text(o.o_orderpriority).shown(o.o_clerk);
    row.int(o.o_shippriority).comment(o.o_comment);
}

fn line_item(l: &rows::LineItem<'_>, row: &mut Row<'_>) {
    row.int(l.l_orderkey).int(l.l_partkey).int(l.l_suppkey).int(l.l_linenumber);
    row.decimal(TPCHDecimal(l.l_quantity * 100)).decimal(l.l_extendedprice);
    row.decimal(l.l_discount).decimal(l.l_tax).text(l.l_returnflag).text(l.l_linestatus);
    row.date(l.l_shipdate).date(l.l_commitdate).date(l.l_receiptdate);
    row.text(l.l_shipinstruct).text(l.l_shipmode).comment(l.l_comment);
}
