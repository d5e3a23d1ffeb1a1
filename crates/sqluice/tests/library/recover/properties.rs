//! Tests of `recover` with many randomly damaged files: the rows that each result must have, and the tables that have them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use sqluice::recover::Recover;
use sqluice_format::page::{Geometry, PageKind, PageSize};
use sqluice_format::salvage::{Salvage, Types};
use sqluice_testkit::effort::tries;

use super::damage::{KINDS, Kind, Random, damage};
use super::support::{Row, Rows, SCHEMAS, assert_sound, make, rows};

/// A row of a sound database: its table, its rowid, and the pages that it needs.
struct Placed {
    table: String,
    rowid: i64,
    leaf: usize,
    /// The leaf and the overflow pages.
    needs: BTreeSet<usize>,
    /// The pages above the leaf, and those of the schema.
    above: BTreeSet<usize>,
}

/// Takes a page of a walk: its number, the pages above, and its entries.
type Visit<'v> = dyn FnMut(u32, &BTreeSet<usize>, &Salvage) + 'v;

/// Returns the places of the rows of rowid tables, by a plain walk.
fn places(bytes: &[u8], page_bytes: usize, path: &Path) -> Vec<Placed> {
    let connection = rusqlite::Connection::open(path).unwrap();
    let mut select = connection
        .prepare(
            "SELECT s.name, s.rootpage FROM sqlite_schema s JOIN pragma_table_list l ON l.name = s.name
             WHERE s.type = 'table' AND l.wr = 0 AND s.name NOT LIKE 'sqlite_%'",
        )
        .unwrap();
    let tables: Vec<(String, u32)> =
        select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect();
    let geometry = Geometry::new(PageSize::new(page_bytes as u32).unwrap(), 0).unwrap();
    let page = |number: u32| &bytes[(number as usize - 1) * page_bytes..][..page_bytes];
    let mut salvage = Salvage::default();
    let mut of_schema = BTreeSet::new();
    let mut walk = |root: u32, each: &mut Visit<'_>| {
        let mut next = vec![(root, BTreeSet::new())];
        while let Some((number, mut above)) = next.pop() {
            let kind = salvage.read(page(number), number, geometry, &mut Types::new());
            assert!(salvage.is_whole, "page {number}");
            each(number, &above, &salvage);
            if kind == Some(PageKind::InteriorTable) {
                above.insert(number as usize);
                next.extend(salvage.children.iter().map(|(child, _)| (*child, above.clone())));
            }
        }
    };
    walk(1, &mut |number, _, _| {
        of_schema.insert(number as usize);
    });
    let mut placed = Vec::new();
    for (table, root) in tables {
        walk(root, &mut |number, above, salvage| {
            for entry in &salvage.entries {
                let mut needs = BTreeSet::from([number as usize]);
                let mut overflow = entry.cell.overflow.unwrap_or(0);
                while overflow != 0 {
                    needs.insert(overflow as usize);
                    let at = (overflow as usize - 1) * page_bytes;
                    overflow = u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
                }
                let above = above.union(&of_schema).copied().collect();
                placed.push(Placed {
                    table: table.clone(),
                    rowid: entry.cell.rowid,
                    leaf: number as usize,
                    needs,
                    above,
                });
            }
        });
    }
    placed
}

/// A sound database, and the places of its rows.
struct Original {
    bytes: Vec<u8>,
    page_bytes: usize,
    rows: Rows,
    placed: Vec<Placed>,
}

fn original(schema: usize, page_bytes: u32, encoding: &str) -> Original {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    make(&path, SCHEMAS[schema], page_bytes, encoding);
    let bytes = fs::read(&path).unwrap();
    let placed = places(&bytes, page_bytes as usize, &path);
    Original { placed, rows: rows(&path), page_bytes: page_bytes as usize, bytes }
}

/// Returns a row without its first value, the rowid.
fn values(row: &Row) -> String {
    row.split_once('|').map_or(row.clone(), |(_, rest)| rest.to_owned())
}

fn check(seed: u64, originals: &[Original]) -> (u64, u64) {
    let mut random = Random(seed);
    let which = random.below(originals.len());
    let kind = KINDS[(seed % KINDS.len() as u64) as usize];
    let original = &originals[which];
    let same_size: Vec<&Original> =
        originals.iter().filter(|other| other.page_bytes == original.page_bytes).collect();
    let other = same_size[random.below(same_size.len())];
    let mut bytes = original.bytes.clone();
    damage(kind, &mut bytes, original.page_bytes, &other.bytes, &mut random);
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (folder.path().join("x.db"), folder.path().join("new.db"));
    fs::write(&source, &bytes).unwrap();
    let report = Recover::new(&source, &target).run();
    let label = format!("seed {seed}, database {which}, {kind:?}");
    let report = report.unwrap_or_else(|error| panic!("{label}: {error}"));
    assert_eq!(fs::read(&source).unwrap(), bytes, "{label}: the source was written");
    assert_sound(&target);
    let found = rows(&target);
    let page = |bytes: &[u8], number: usize| -> Vec<u8> {
        let from = ((number - 1) * original.page_bytes).min(bytes.len());
        bytes[from..(from + original.page_bytes).min(bytes.len())].to_vec()
    };
    let pages = original.bytes.len() / original.page_bytes;
    let changed: BTreeSet<usize> =
        (1..=pages).filter(|number| page(&bytes, *number) != page(&original.bytes, *number)).collect();
    let is_hit = original.placed.iter().any(|placed| {
        changed.contains(&placed.leaf) || kind == Kind::Swaps && !placed.above.is_disjoint(&changed)
    });
    // Pages may have changed places so that the file is a sound database with other rows. SQLite sees no damage then.
    if !report.saved.damaged && is_hit && kind != Kind::Flips {
        assert_sound(&source);
        // Only the first two values of each row are compared: `recover` computes stored generated columns anew, and rows of a freed page
        // of another table may lack these columns.
        let given = |rows: &Rows| -> Vec<(String, String)> {
            let of = |(table, row): (&String, &Row)| (table.clone(), row.split('|').take(2).collect());
            rows.iter().flat_map(|(table, rows)| rows.iter().map(move |row| of((table, row)))).collect()
        };
        let (saved, read) = (given(&found), given(&rows(&source)));
        assert!(saved == read, "{label}: rows differ from those that SQLite reads");
        return (0, 0);
    }
    let mut by_rowid: BTreeMap<(&str, i64), &Row> = BTreeMap::new();
    for (table, rows) in &original.rows {
        for row in rows {
            if let Some(rowid) = row.split('|').next().and_then(|rowid| rowid.parse().ok()) {
                by_rowid.insert((table, rowid), row);
            }
        }
    }
    let elsewhere: BTreeSet<String> = found
        .iter()
        .filter(|(table, _)| !original.rows.contains_key(*table))
        .flat_map(|(_, rows)| rows.iter().map(|row| row.splitn(3, '|').nth(2).unwrap_or_default().to_owned()))
        .collect();
    let (mut wanted, mut saved) = (0, 0);
    for Placed { table, rowid, needs, above, .. } in &original.placed {
        if !needs.is_disjoint(&changed) {
            continue;
        }
        wanted += 1;
        let row = by_rowid[&(table.as_str(), *rowid)];
        let is_there = found.get(table).is_some_and(|rows| rows.contains(row));
        // Pages of other databases may take rows to other places, but a sound path to a row leads to its table.
        let has_path = above.is_disjoint(&changed);
        let is_apart = || {
            let is_same = |other: &String| other.contains(&values(row)) || is_part(&values(row), other);
            elsewhere.iter().any(is_same)
        };
        // A damaged value may be the key of a sound row, which is then put aside.
        let is_aside = kind == Kind::Flips && is_apart();
        assert!(is_there || !has_path || is_aside, "{label}: {table} lost {row}: {:?}", report.saved);
        let is_somewhere = is_there || is_apart();
        saved += u64::from(is_somewhere);
        assert!(is_somewhere, "{label}: {table} lost {row}, which no tree names: {:?}", report.saved);
    }
    // If no byte of a row was damaged, no other row may appear.
    let may_change = [Kind::Flips, Kind::Range, Kind::Cut, Kind::Garbage, Kind::Foreign].contains(&kind);
    for (table, rows) in found.iter().filter(|(table, _)| original.rows.contains_key(*table)) {
        let about = report.saved.tables.iter().find(|about| about.name == *table).unwrap();
        if may_change || about.by_shape + about.by_gap > 0 {
            continue;
        }
        let known: BTreeSet<&Row> = original.rows[table].iter().collect();
        // These rows have a damaged page beside another page that they need, so that their values may be damaged.
        let overflow_changed: BTreeSet<i64> = original
            .placed
            .iter()
            .filter(|placed| {
                placed.table == *table && placed.needs.len() > 1 && !placed.needs.is_disjoint(&changed)
            })
            .map(|placed| placed.rowid)
            .collect();
        for row in rows {
            let rowid = row.split('|').next().and_then(|rowid| rowid.parse().ok());
            let is_changed = rowid.is_some_and(|rowid: i64| overflow_changed.contains(&rowid));
            assert!(
                is_changed || known.contains(row),
                "{label}: {table} has a new row {row}: {:?}",
                report.saved
            );
        }
    }
    (wanted, saved)
}

/// Returns `true` if the other row has all values but two at most: a row of no table lacks the column of the rowid, and generated columns.
fn is_part(values: &str, other: &str) -> bool {
    let other: BTreeSet<&str> = other.split('|').collect();
    let of: Vec<&str> = values.split('|').collect();
    let found = of.iter().filter(|value| other.contains(*value)).count();
    found + 2 >= of.len() && found > 0
}

fn originals() -> Vec<Original> {
    let mut all = Vec::new();
    for schema in 0..SCHEMAS.len() {
        for (page_bytes, encoding) in [(512, "UTF-8"), (1024, "UTF-8"), (4096, "UTF-8"), (1024, "UTF-16le")] {
            all.push(original(schema, page_bytes, encoding));
        }
    }
    all
}

/// Seeds of files of which sound rows were lost once.
const LOST_ONCE: [u64; 2] = [2192, 2586];

#[test]
fn sound_rows_that_were_lost_once_are_saved() {
    let originals = originals();
    for seed in LOST_ONCE {
        let (wanted, saved) = check(seed, &originals);
        assert_eq!(wanted, saved, "seed {seed}");
    }
}

#[test]
fn sound_rows_of_damaged_files_are_saved_and_no_others() {
    let count = tries(200, 400, 10_000) as u64;
    let originals = originals();
    let run = &|first: u64| (first..count).step_by(2).map(|seed| check(seed, &originals)).collect::<Vec<_>>();
    let found = std::thread::scope(|scope| {
        let workers = [0, 1].map(|first| scope.spawn(move || run(first)));
        workers.map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let (wanted, saved) =
        found.iter().flatten().fold((0, 0), |sum, (wanted, saved)| (sum.0 + wanted, sum.1 + saved));
    assert!(saved == wanted && wanted > 1000, "{saved} of {wanted}");
}
