//! Tests that tables of the benchmark TPC-H have the rows of the crate `tpchgen`, for any number of parts.

use std::collections::BTreeSet;

use proptest::prelude::*;
use sqluice_core::batch::{Batch, Value};
use tpchgen::generators::{LineItemGenerator, PartSuppGenerator};

use super::*;

/// Returns all rows of a table as text, and the number of the first row of each part.
fn rows(source: &mut TpchTable) -> (Vec<Vec<String>>, Vec<u64>) {
    let (mut rows, mut firsts) = (Vec::new(), Vec::new());
    while let Some(mut part) = source.next_part().unwrap() {
        firsts.push(part.first_row());
        assert_eq!(part.first_row(), rows.len() as u64, "a part begins after the rows of the parts before");
        let mut sink = |batch: &Batch<'_>| {
            rows.extend((0..batch.rows).map(|row| {
                let text = |value| match value {
                    Value::Text(text) => String::from_utf8(text.to_vec()).unwrap(),
                    other => format!("{other:?}"),
                };
                batch.columns.iter().map(|column| text(column.get(row))).collect()
            }));
            Ok(())
        };
        part.decode(&mut sink).unwrap();
    }
    (rows, firsts)
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(8))]

    #[test]
    fn a_tpch_table_has_the_same_rows_in_any_number_of_parts(
        table in proptest::sample::select(Table::ALL.to_vec()),
        scale in 0.0005..0.004,
        parts in 2..50_i32,
    ) {
        let (whole, _) = rows(&mut TpchTable::new(table, scale, 1));
        let parts = if table.units().is_some() { parts } else { 1 };
        let (cut, firsts) = rows(&mut TpchTable::new(table, scale, parts));
        prop_assert_eq!(firsts.len(), parts as usize);
        prop_assert!(whole == cut);
    }
}

#[test]
fn a_tpch_table_has_the_announced_numbers_of_rows_and_parts() {
    for mut table in TpchTable::all(0.02).unwrap() {
        let (about, known) = (table.rows_about(), table.rows());
        let (rows, firsts) = rows(&mut table);
        assert_eq!(firsts.len(), table.parts as usize);
        assert!(known.is_none_or(|known| known == rows.len() as u64), "{table:?}");
        assert!(rows.len().abs_diff(about as usize) <= rows.len() / 50, "{table:?}: {} rows", rows.len());
        assert!(rows.iter().all(|row| row.len() == table.table.columns()));
    }
}

#[test]
fn the_parts_of_large_tpch_tables_have_the_size_of_a_write() {
    for scale in [0.01, 1.0, 30.0, 1000.0] {
        for table in TpchTable::all(scale).unwrap() {
            let part_bytes = table.bytes_about() / u64::from(table.parts.unsigned_abs());
            // Units are not divided between parts.
            let least = PART_BYTES - table.table.row_bytes() * table.table.rows_per_unit();
            let whole = table.parts == 1 && part_bytes < 2 * PART_BYTES;
            assert!(whole || (least..2 * PART_BYTES).contains(&part_bytes), "{table:?}: {part_bytes}");
        }
    }
    // The generator also reaches the last parts at a large scale quickly, without generating the parts before.
    let rows = LineItemGenerator::new(100_000.0, 9_000_000, 9_000_000).iter().take(10).count();
    assert_eq!(rows, 10);
}

/// Compares the repeated keys in generated rows of `partsupp` with the prediction.
#[test]
fn tpch_scales_at_which_keys_of_partsupp_repeat_are_predicted_and_refused() {
    let mut refused = 0;
    for thousandths in 1..=60 {
        let scale = f64::from(thousandths) / 2000.0;
        let (parts, suppliers) = (units(Table::Part, scale), units(Table::Supplier, scale));
        let keys: Vec<_> =
            PartSuppGenerator::new(scale, 1, 1).iter().map(|it| (it.ps_partkey, it.ps_suppkey)).collect();
        let twice = keys.iter().collect::<BTreeSet<_>>().len() < keys.len();
        assert_eq!(a_key_comes_twice(parts, suppliers), twice, "scale {scale}");
        refused += usize::from(TpchTable::all(scale).is_err());
    }
    assert!((10..50).contains(&refused), "{refused} of 60");
    for suppliers in (300..20_000).chain([100, 200, 1_000_000_000]) {
        assert!(!a_key_comes_twice(suppliers * 20 + 19, suppliers), "{suppliers} suppliers");
    }
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, 100_001.0] {
        assert!(TpchTable::all(scale).unwrap_err().remedy().is_some());
    }
}
