//! Property tests: values and records read back as written, no bytes make the record reader panic, pages are those of a naive writer, and
//! the check finds no fault in what SQLite writes.

use crate::support::values::Owned;
use crate::support::*;
use proptest::prelude::*;
use sqluice_format::cell;
use sqluice_format::check::TreeKind;
use sqluice_format::chunk::{Chunk, Leaf};
use sqluice_format::page::Geometry;
use sqluice_format::record::{self, Shift};
use sqluice_format::value::Value;
use sqluice_format::varint;

fn any_value() -> impl Strategy<Value = Owned> {
    let bytes = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..70),
        prop::collection::vec(any::<u8>(), 8000..9000)
    ];
    prop_oneof![
        Just(Owned::Null),
        (any::<i64>(), 0..64u32).prop_map(|(i, shift)| Owned::Int(i >> shift)),
        any::<f64>().prop_filter("SQLite has no NaN", |r| !r.is_nan()).prop_map(Owned::Real),
        bytes.clone().prop_map(Owned::Text),
        bytes.prop_map(Owned::Blob),
    ]
}

/// Generates sizes of records, most of them small, on pages of 512 bytes.
fn sizes() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(prop_oneof![6 => 2..80usize, 3 => 400..600usize, 1 => 600..4000usize], 1..120)
}

fn rows_of(sizes: &[usize]) -> Vec<Row> {
    (1..).zip(sizes).map(|(rowid, &bytes)| (rowid * 40, record_of(bytes, rowid as u8))).collect()
}

/// Writes leaves and overflow pages in the obvious way, numbered from `first`: each cell goes to the present leaf if it fits, and to a new
/// leaf if not, and its overflow pages follow. Also returns the leaves.
fn naive_pages(rows: &[Row], geometry: Geometry, first: u32) -> (Vec<u8>, Vec<Leaf>) {
    struct Page {
        cells: Vec<Vec<u8>>,
        overflow: Option<Vec<u8>>,
        last_rowid: i64,
    }
    let usable = geometry.usable_bytes();
    let mut pages: Vec<Page> = Vec::new();
    let mut open = None;
    for (rowid, record) in rows {
        let split = cell::table_leaf_split(record.len(), geometry);
        let mut cell = Vec::new();
        varint::push(&mut cell, record.len() as u64);
        varint::push(&mut cell, *rowid as u64);
        cell.extend_from_slice(&record[..split.local]);
        let bytes = cell.len() + if split.overflow_pages > 0 { 4 } else { 0 };
        let used = |page: &Page| 8 + page.cells.iter().map(|cell| cell.len() + 2).sum::<usize>();
        let leaf = match open {
            Some(leaf) if used(&pages[leaf]) + bytes + 2 <= usable => leaf,
            _ => {
                pages.push(Page { cells: Vec::new(), overflow: None, last_rowid: 0 });
                open = Some(pages.len() - 1);
                pages.len() - 1
            }
        };
        let overflow: Vec<&[u8]> = record[split.local..].chunks(usable - 4).collect();
        for (i, content) in overflow.iter().enumerate() {
            let number = first + pages.len() as u32;
            if i == 0 {
                cell.extend_from_slice(&number.to_be_bytes());
            }
            let next = if i + 1 < overflow.len() { number + 1 } else { 0 };
            let page = [&next.to_be_bytes(), *content].concat();
            pages.push(Page { cells: Vec::new(), overflow: Some(page), last_rowid: 0 });
        }
        pages[leaf].cells.push(cell);
        pages[leaf].last_rowid = *rowid;
    }
    let (mut bytes, mut leaves) = (Vec::new(), Vec::new());
    for (number, page) in (0..).zip(&pages) {
        let mut out = page.overflow.clone().unwrap_or_else(|| {
            leaves.push(Leaf { page: number, last_rowid: page.last_rowid });
            let cells: Vec<u8> = page.cells.iter().rev().flatten().copied().collect();
            let mut at = usable;
            let pointers = page.cells.iter().flat_map(|cell| {
                at -= cell.len();
                (at as u16).to_be_bytes()
            });
            let pointers: Vec<u8> = pointers.collect();
            let count = (page.cells.len() as u16).to_be_bytes();
            let content = (at as u16).to_be_bytes();
            let mut out = vec![13, 0, 0, count[0], count[1], content[0], content[1], 0];
            out.extend(pointers);
            out.resize(at, 0);
            out.extend(cells);
            out
        });
        out.resize(geometry.page_bytes(), 0);
        bytes.extend(out);
    }
    (bytes, leaves)
}

/// Generates a change that SQLite makes to a database.
fn statement() -> impl Strategy<Value = String> {
    let table = 0..4u8;
    let bytes = prop_oneof![8 => 0..60i32, 4 => 60..1200, 1 => 1200..9000];
    let key = -50..300i64;
    prop_oneof![
        4 => (table.clone(), key.clone(), bytes.clone()).prop_map(|(t, k, n)| format!(
            "INSERT OR REPLACE INTO t{t} (id, a, b) VALUES ({k}, randomblob({n}), {k} * 1.5)"
        )),
        4 => (table.clone(), key.clone(), bytes, 1..60).prop_map(|(t, k, n, count)| format!(
            "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT {count})
             INSERT OR REPLACE INTO t{t} (id, a, b) SELECT {k} + i * 3, hex(zeroblob({n} * i / {count})), i FROM n"
        )),
        4 => (table.clone(), key.clone(), 1..80i64)
            .prop_map(|(t, k, n)| format!("DELETE FROM t{t} WHERE id BETWEEN {k} AND {k} + {n}")),
        2 => (table.clone(), 2..5).prop_map(|(t, n)| format!("DELETE FROM t{t} WHERE id % {n} = 0")),
        2 => (table.clone(), key, 0..700).prop_map(|(t, k, n)| format!(
            "UPDATE t{t} SET a = randomblob({n}) WHERE id > {k} AND id % 3 = 0"
        )),
        1 => (table.clone(), any::<bool>())
            .prop_map(|(t, some)| format!("CREATE INDEX IF NOT EXISTS i{t}_{some} ON t{t} (a, b) {}",
                if some { "WHERE b > 3" } else { "" })),
        1 => (table.clone(), any::<bool>()).prop_map(|(t, some)| format!("DROP INDEX IF EXISTS i{t}_{some}")),
        1 => (table.clone(), 0..3).prop_map(|(t, n)| format!("ALTER TABLE t{t} ADD COLUMN more{n} DEFAULT {n}")),
        1 => table.prop_map(|t| format!("DROP TABLE IF EXISTS t{t}")),
        1 => Just("CREATE VIEW IF NOT EXISTS v AS SELECT 1; CREATE VIRTUAL TABLE IF NOT EXISTS w USING fts5(x)".to_owned()),
        1 => Just("ANALYZE".to_owned()),
        1 => Just("PRAGMA incremental_vacuum(3)".to_owned()),
        1 => Just("VACUUM".to_owned()),
    ]
}

/// Returns the statistics of each tree as SQLite's dbstat reports them, which lacks the depth.
fn dbstat(db: &rusqlite::Connection, name: &str, kind: TreeKind) -> [u64; 6] {
    let cells = if kind == TreeKind::Table { "pagetype = 'leaf'" } else { "pagetype <> 'overflow'" };
    let sql = format!(
        "SELECT coalesce(sum(ncell) FILTER (WHERE {cells}), 0), sum(pagetype = 'leaf'), sum(pagetype = 'internal'),
         sum(pagetype = 'overflow'), sum(payload), sum(unused) FROM dbstat WHERE name = ?1"
    );
    db.query_row(&sql, [name], |row| {
        let mut figures = [0; 6];
        for (i, figure) in figures.iter_mut().enumerate() {
            *figure = row.get::<_, i64>(i)? as u64;
        }
        Ok(figures)
    })
    .unwrap()
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn the_check_finds_no_fault_in_databases_that_sqlite_changed(
        page_bytes in prop::sample::select(vec![512u32, 1024, 4096, 65536]),
        auto_vacuum in 0..3,
        encoding in prop::sample::select(vec!["UTF-8", "UTF-16le", "UTF-16be"]),
        statements in prop::collection::vec(statement(), 1..25),
    ) {
        let home = Home::new();
        let db = open(&home.path);
        db.execute_batch(&format!(
            "PRAGMA page_size = {page_bytes}; PRAGMA auto_vacuum = {auto_vacuum}; PRAGMA encoding = '{encoding}'; VACUUM;
             PRAGMA journal_mode = off;
             CREATE TABLE t0 (id INTEGER PRIMARY KEY, a, b);
             CREATE TABLE t1 (id INTEGER PRIMARY KEY AUTOINCREMENT, a, b REAL);
             CREATE TABLE t2 (id PRIMARY KEY, a, b, UNIQUE (b, a, id)) WITHOUT ROWID;
             CREATE TABLE t3 (id, a TEXT, b, UNIQUE (id));"
        )).unwrap();
        for statement in &statements {
            // Statements about dropped objects may fail.
            let _ = db.execute_batch(statement);
        }
        let twin = integrity(&db);
        prop_assert_eq!(twin, "ok");
        let report = check_bytes(&home.bytes());
        prop_assert!(report.is_sound(), "{}", problems(&report));
        for tree in &report.trees {
            let mut figures = [tree.rows, tree.leaf_pages.into(), tree.interior_pages.into(),
                tree.overflow_pages.into(), tree.payload_bytes, tree.unused_bytes];
            let twin = dbstat(&db, &tree.name, tree.kind);
            if page_bytes == 65536 {
                // In the header of an empty page of 65536 bytes, the start of the cells is 0, which stands for 65536. dbstat takes it for
                // 0, so its number of unused bytes is wrong.
                figures[5] = twin[5];
            }
            prop_assert_eq!(figures, twin, "{}", tree.name);
            let usable = u64::from(tree.pages()) * u64::from(page_bytes);
            prop_assert_eq!(tree.used_bytes + tree.unused_bytes, usable);
        }
        let pragma = |name: &str| db.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, u32>(0)).unwrap();
        prop_assert_eq!((report.page_count, report.freelist_pages), (pragma("page_count"), pragma("freelist_count")));
        let in_trees: u32 = report.trees.iter().map(|tree| tree.pages()).sum();
        prop_assert_eq!(in_trees + report.freelist_pages + report.pointer_map_pages, report.page_count);
    }

    #[test]
    fn a_varint_is_read_back_as_the_same_number(value in any::<u64>(), shift in 0..64u32, after in any::<[u8; 2]>()) {
        let value = value >> shift;
        let mut bytes = Vec::new();
        varint::push(&mut bytes, value);
        prop_assert_eq!(bytes.len(), varint::len(value));
        bytes.extend(after);
        prop_assert_eq!(varint::read(&bytes), Some((value, bytes.len() - 2)));
    }

    #[test]
    fn a_record_is_read_back_with_the_same_values(row in prop::collection::vec(any_value(), 0..20), cut in any::<prop::sample::Index>()) {
        let values: Vec<Value<'_>> = row.iter().map(Owned::value).collect();
        let mut bytes = Vec::new();
        record::encode(&values, &mut bytes);
        prop_assert_eq!(record::decode(&bytes), Ok(values));
        prop_assert!(record::decode(&bytes[..cut.index(bytes.len())]).is_err());
        bytes.push(0);
        prop_assert!(record::decode(&bytes).is_err());
    }

    #[test]
    fn no_bytes_make_the_record_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let _ = record::decode(&bytes);
    }

    #[test]
    fn a_chunk_of_pages_has_the_bytes_that_a_simple_writer_makes(sizes in sizes(), reserved in 0..33u8, capacity in 1..40u32) {
        let geometry = geometry(512, reserved);
        let all = rows_of(&sizes);
        let mut rows = &all[..];
        let mut recycled = Chunk::new(geometry, capacity);
        while !rows.is_empty() {
            // A reused buffer must not keep earlier bytes.
            recycled.bytes_mut().fill(0xaa);
            recycled.clear();
            let taken = rows.iter().take_while(|(rowid, record)| recycled.push(*rowid, record)).count();
            recycled.finish();
            recycled.relocate(9);
            let (taken_rows, rest) = rows.split_at(taken);
            let (bytes, leaves) = naive_pages(taken_rows, geometry, 9);
            prop_assert_eq!(recycled.bytes(), &bytes[..]);
            prop_assert_eq!(recycled.leaves(), &leaves[..]);
            prop_assert_eq!(recycled.rows(), taken as u64);
            // The chunk is as full as possible.
            let pages = recycled.page_count();
            let of_first = (naive_pages(&taken_rows[..1], geometry, 9).0.len() / 512) as u32;
            prop_assert!(pages <= capacity.max(of_first), "what is over the capacity is one row's");
            if let Some(next) = rest.first() {
                let more = naive_pages(&[taken_rows, std::slice::from_ref(next)].concat(), geometry, 9).0;
                prop_assert!(more.len() / 512 > capacity.max(pages) as usize);
            }
            rows = rest;
        }
    }

    #[test]
    fn placing_cells_one_by_one_or_many_at_once_gives_the_same_pages(
        cells in prop::collection::vec(4..200u32, 1..300),
        capacity in 1..20u32,
    ) {
        let (mut single, mut each) = (Chunk::new(geometry(512, 0), capacity), Chunk::new(geometry(512, 0), capacity));
        let mut places = vec![0; cells.len()];
        let placed = each.place_each(&cells, |row| row as i64 * 3, &mut places);
        let singles = cells.iter().zip(0..).map_while(|(&bytes, row)| single.place(bytes as usize, row * 3));
        prop_assert_eq!(&places[..placed], &singles.collect::<Vec<_>>()[..]);
        for chunk in [&mut single, &mut each] {
            places[..placed].iter().zip(&cells).for_each(|(&place, &bytes)| {
                chunk.bytes_mut()[place as usize..][..bytes as usize].fill(1);
            });
            chunk.finish();
        }
        prop_assert_eq!(single.bytes(), each.bytes());
        prop_assert_eq!((single.leaves(), single.rows()), (each.leaves(), each.rows()));
    }

    #[test]
    fn placing_cells_one_by_one_or_as_a_run_gives_the_same_pages(
        runs in prop::collection::vec((4..200usize, 1..30usize), 1..20),
        capacity in 1..20u32,
    ) {
        let geometry = geometry(512, 0);
        let (mut single, mut run) = (Chunk::new(geometry, capacity), Chunk::new(geometry, capacity));
        let mut rowid = 1;
        for (cell_bytes, count) in runs {
            let mut parts = Vec::new();
            let placed = run.place_run(cell_bytes, rowid, count, &mut parts);
            let places = parts.iter().flat_map(|part| {
                (0..part.rows).rev().map(|cell| part.start + cell * cell_bytes as u32)
            });
            let places: Vec<u32> = places.collect();
            prop_assert_eq!(places.len(), placed);
            let singles: Vec<u32> =
                (0..count as i64).map_while(|i| single.place(cell_bytes, rowid + i)).collect();
            prop_assert_eq!(&places[..], &singles[..]);
            for place in singles {
                for chunk in [&mut single, &mut run] {
                    chunk.bytes_mut()[place as usize..][..cell_bytes].fill(rowid as u8 | 1);
                }
                rowid += 1;
            }
            prop_assert_eq!(single.finished_pages(), run.finished_pages());
            if placed < count {
                break;
            }
        }
        single.finish();
        run.finish();
        prop_assert_eq!(single.bytes(), run.bytes());
        prop_assert_eq!((single.leaves(), single.rows()), (run.leaves(), run.rows()));
        prop_assert_eq!(run.rows() as i64, rowid - 1);
    }

    #[test]
    fn all_rows_of_random_tables_are_read_back(
        sizes in sizes(),
        page_bytes in prop::sample::select(vec![512u32, 1024, 4096]),
        reserved in 0..33u8,
        capacity in 1..40u32,
    ) {
        let expected = rows_of(&sizes);
        let bytes = database(geometry(page_bytes, reserved), &expected, capacity);
        let report = check_bytes(&bytes);
        prop_assert!(report.is_sound(), "{}", problems(&report));
        prop_assert_eq!(rows(&bytes, report.trees[1].root_page), expected);
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn count_fields_accepts_the_records_that_decode_accepts(
        values in prop::collection::vec(any_value(), 0..12),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let values: Vec<Value<'_>> = values.iter().map(Owned::value).collect();
        let mut bytes = Vec::new();
        record::encode(&values, &mut bytes);
        prop_assert_eq!(record::count_fields(&bytes), Ok(values.len()));
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let no_nan = |values: &Vec<Value<'_>>| !values.iter().any(|v| matches!(v, Value::Real(r) if r.is_nan()));
        let decoded = record::decode(&bytes).ok().filter(no_nan).map(|values| values.len());
        prop_assert_eq!(record::count_fields(&bytes).ok(), decoded);
    }

    #[test]
    fn shift_adds_to_the_integers_of_an_encoded_record(
        values in prop_oneof![9 => prop::collection::vec(any_value(), 1..6), 1 => prop::collection::vec(any_value(), 125..135)],
        shifts in prop::collection::btree_map(0..7usize, prop_oneof![any::<i64>(), -300..300i64], 0..6),
        (from, may_lack) in (prop_oneof![Just(i64::MIN), -300..300i64], any::<bool>()),
    ) {
        let mut values: Vec<Value<'_>> = values.iter().map(Owned::value).collect();
        let (mut record, mut shifted, mut expected) = (Vec::new(), b"before".to_vec(), b"before".to_vec());
        record::encode(&values, &mut record);
        let last = match values.last() {
            Some(Value::Int(int)) => Some(*int),
            _ => None,
        };
        prop_assert_eq!(record::last_int(&record), last);
        let shifts: Vec<Shift> = shifts.into_iter().map(|(field, add)| Shift { field, add, from, may_lack }).collect();
        let sums = shifts.iter().map(|&Shift { field, add, from, .. }| match values.get_mut(field) {
            Some(Value::Int(int)) if *int < from => Some(()),
            Some(Value::Int(int)) => int.checked_add(add).map(|sum| *int = sum),
            Some(Value::Null) => Some(()),
            None if may_lack => Some(()),
            _ => None,
        });
        let is_possible = sums.collect::<Vec<_>>().iter().all(Option::is_some);
        record::encode(&values, &mut expected);
        prop_assert_eq!(record::shift(&record, &shifts, &mut shifted).is_ok(), is_possible);
        if is_possible {
            prop_assert_eq!(shifted, expected);
        }
    }
}
