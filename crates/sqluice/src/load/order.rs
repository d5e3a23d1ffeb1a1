//! Decides, from the rowids in the samples, if the rows of a table must be sorted by rowid before they are written.
//!
//! ```text
//!  rowids in the samples of all files              write path
//!  none: no file has the column                    pages
//!  strictly ascending, the samples have all rows   pages
//!  strictly ascending                              pages; if a later rowid does not ascend, the rows are loaded again, sorted
//!  NULL among numbers, or a file without them      sorted, and encoded one row after another
//!  anything else                                   sorted; if a later rowid is NULL, loaded again, one row after another
//! ```
//!
//! A NULL stands for the next rowid: the largest one so far plus 1. If other rows give their rowids, this number depends on all rows
//! before. So such rows are encoded one after another, not in parallel.

use sqluice_core::error::Result;
use sqluice_core::schema::Schema;
use sqluice_core::source::columns::ColumnFrom;
use sqluice_engine::options::WritePath;
use sqluice_engine::plan::Plan;

use crate::load::files::file::{Classes, FileMap};
use crate::load::files::rowid_order::{Ascending, Order};
use crate::load::request::Request;
use crate::load::tables::table::LoadTable;

/// Decides in which order the rows of a table are written, and completes `plan`. Assumes the order that the samples or failed attempts
/// show.
pub(crate) fn plan(load: &Request, table: &mut LoadTable, schema: &Schema, plan: &mut Plan) -> Result<()> {
    let index = table.index_in(schema);
    let declared = &schema.tables[index];
    if !matches!(table.order, Order::Any | Order::AnyWithNulls) {
        table.order = of_samples(table, load, schema);
    }
    if let Some(existing) = &load.existing {
        plan.choose((index, declared), existing, table.rows(declared, load), &load.write)?;
    }
    match plan.tables[index].write_path {
        WritePath::Pages => {}
        WritePath::Sorted if table.order == Order::AssumedAscending => table.order = Order::Any,
        WritePath::Sorted => {}
        // SQLite inserts rows in any order, so no order is assumed.
        _ => {
            table.order = Order::Ascending;
            return Ok(());
        }
    }
    // With a `reject` file nothing is assumed: a second attempt would write the same bad rows to the file again.
    if table.order.is_guess() && load.reject.is_some() {
        table.order = Order::AnyWithNulls;
    }
    let Some(alias) = declared.rowid_alias else { return Ok(()) };
    let name = &declared.columns[alias].name;
    match table.order {
        Order::Ascending => Ok(()),
        Order::AssumedAscending => {
            let why = &mut plan.tables[index].why;
            *why += &format!("; rows are taken to be in the order of {name}, and sorted if they are not");
            Ok(())
        }
        Order::Any | Order::AnyWithNulls => {
            let nulls = table.order == Order::AnyWithNulls;
            let why = format!("rows may be in any order of {name}");
            plan.sort_rows((index, declared), nulls, &why, &load.write)
        }
    }
}

/// Returns the order of the rowids in the samples of all files of the table.
fn of_samples(table: &mut LoadTable, load: &Request, schema: &Schema) -> Order {
    let declared = &schema.tables[table.index_in(schema)];
    let Some(alias) = declared.rowid_alias else { return Order::Ascending };
    // An error of `maps` is not returned here: it occurs again when the files are opened for their rows.
    let Ok(maps) = table.maps(declared, load) else { return Order::AssumedAscending };
    let given = |map: &FileMap| matches!(map.from[alias], ColumnFrom::Field(_));
    match maps.iter().filter(|map| given(map)).count() {
        0 => return Order::Ascending,
        files if files < maps.len() => return Order::AnyWithNulls,
        _ => {}
    }
    let mut ascending = Ascending::default();
    let mut seen = true;
    for (file, mut map) in table.files.iter_mut().zip(maps) {
        seen &= file.seen;
        if let (ColumnFrom::Field(field), Some((observed, values))) = (&map.from[alias], &file.rowids)
            && field == observed
        {
            ascending.append(values);
            continue;
        }
        let Ok(mut source) =
            file.sample_source(vec![map.from.swap_remove(alias)], &Classes::default(), u64::MAX)
        else {
            return Order::AssumedAscending;
        };
        while let Ok(Some(mut part)) = source.next_part() {
            if part.decode(&mut ascending).is_err() {
                break;
            }
        }
    }
    table.first_rowid = ascending.first;
    match () {
        () if ascending.nulls && ascending.last.is_some() => Order::AnyWithNulls,
        () if ascending.broken => Order::Any,
        () if seen => Order::Ascending,
        () => Order::AssumedAscending,
    }
}
