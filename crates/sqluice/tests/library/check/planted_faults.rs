//! Faults planted in databases that SQLite wrote: `check` finds each file damaged that `integrity_check` finds damaged.

use std::sync::LazyLock;

use crate::support::cases;
use crate::support::files::{Home, integrity};
use proptest::prelude::*;
use proptest::sample::Index;
use rusqlite::Connection;
use sqluice::check::Check;
use sqluice_format::cell;
use sqluice_format::database::Header;
use sqluice_format::page::{Geometry, PageKind};
use sqluice_format::varint;

/// A WITH clause for INSERT: the table `k` has 300 different numbers below 1009, in shuffled order.
const NUMBERS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300),
    k(i) AS (SELECT i * 7919 % 1009 FROM n)";

/// Databases to damage: all kinds of tables and indexes whose entries can be derived from the rows.
const SCHEMAS: [&str; 11] = [
    "PRAGMA page_size = 512;
     CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL, b INTEGER, c REAL, d);
     CREATE INDEX ta ON t (a COLLATE NOCASE); CREATE INDEX tb ON t (b DESC, c); CREATE UNIQUE INDEX td ON t (d);
     {N} INSERT INTO t SELECT i, char(65 + i % 50) || i % 7, i % 40, i / 4.0, CASE WHEN i % 9 THEN 'key ' || i END FROM k;",
    "PRAGMA page_size = 1024;
     CREATE TABLE w (a TEXT COLLATE NOCASE, b, v, PRIMARY KEY (a, b DESC)) WITHOUT ROWID; CREATE INDEX wv ON w (v DESC);
     CREATE UNIQUE INDEX wu ON w (v COLLATE RTRIM, b);
     {N} INSERT INTO w SELECT 'K' || i % 20, i, zeroblob(i % 30) || i FROM k;",
    "PRAGMA page_size = 512;
     CREATE TABLE o (a TEXT, b BLOB); CREATE INDEX oa ON o (a); CREATE INDEX ob ON o (b, a);
     {N} INSERT INTO o SELECT replace(hex(zeroblob(i % 11 * 30)), '00', 'xy') || i, zeroblob(i % 5 * 90) FROM k LIMIT 120;",
    "PRAGMA page_size = 1024;
     CREATE TABLE s (i INT, r REAL, t TEXT, b BLOB, a ANY, UNIQUE (t, i)) STRICT; CREATE INDEX si ON s (i, r); CREATE INDEX sa ON s (a);
     {N} INSERT INTO s SELECT i, i / 2.0, 'text ' || i % 30, zeroblob(i % 3), CASE i % 3 WHEN 0 THEN i WHEN 1 THEN 't' || i END FROM k;",
    "PRAGMA page_size = 512; PRAGMA auto_vacuum = 1;
     CREATE TABLE t (a PRIMARY KEY, b);
     {N} INSERT INTO t SELECT 'text ' || i, i % 30 FROM k;
     ALTER TABLE t ADD COLUMN c TEXT DEFAULT 'since then'; ALTER TABLE t ADD COLUMN d REAL DEFAULT 3;
     CREATE INDEX tc ON t (c, b); CREATE INDEX td ON t (d);
     INSERT INTO t VALUES ('new', 1, 'new', 7), ('newer', 2, NULL, 0.5); DELETE FROM t WHERE b = 11; UPDATE t SET c = a WHERE b = 12;",
    "PRAGMA page_size = 1024;
     CREATE TABLE m (a COLLATE RTRIM, b NUMERIC NOT NULL, c INTEGER PRIMARY KEY DESC); CREATE INDEX ma ON m (a DESC, b); CREATE INDEX mb ON m (b);
     {N} INSERT INTO m SELECT CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN i % 20 WHEN 2 THEN 'a' || i % 9 || '  ' WHEN 3 THEN i / 3.0
         ELSE zeroblob(i % 8) END, CASE WHEN i % 2 THEN i ELSE 'b' || i END, i FROM k;",
    "PRAGMA encoding = 'UTF-16le'; PRAGMA page_size = 1024;
     CREATE TABLE u (a TEXT, b INTEGER UNIQUE, c TEXT); CREATE INDEX ua ON u (a, c);
     {N} INSERT INTO u SELECT 'ä' || i % 30, i, 'text' FROM k;",
    "PRAGMA encoding = 'UTF-16be'; PRAGMA page_size = 512;
     CREATE TABLE n (a TEXT COLLATE NOCASE, b TEXT, PRIMARY KEY (a, b COLLATE RTRIM)) WITHOUT ROWID;
     CREATE INDEX nb ON n (b COLLATE NOCASE DESC, a); CREATE UNIQUE INDEX na ON n (a COLLATE RTRIM, b);
     {N} INSERT INTO n SELECT CASE i % 3 WHEN 0 THEN 'Z' WHEN 1 THEN 'z' ELSE '😀' END || i % 20, char(57344 + i) || '  ' FROM k;",
    "PRAGMA page_size = 4096;
     CREATE TABLE l (id INTEGER PRIMARY KEY, area CHAR(6), age INTEGER, active INTEGER, stored AS (age * 2) STORED);
     CREATE INDEX l1 ON l (area); CREATE INDEX l2 ON l (age, area); CREATE INDEX l3 ON l (active); CREATE INDEX l4 ON l (stored, id DESC);
     {N} INSERT INTO l (id, area, age, active) SELECT i, printf('%06d', i * 37 % 1000), i % 90, i % 2 FROM k;",
    "PRAGMA page_size = 512;
     CREATE TABLE c (id INTEGER PRIMARY KEY, a TEXT, b INTEGER, v AS (b * 2), w TEXT AS (substr(a, 2)) STORED);
     CREATE INDEX ca ON c (upper(a), b); CREATE INDEX cb ON c (b) WHERE b % 3 = 0; CREATE INDEX cv ON c (v DESC, a);
     CREATE UNIQUE INDEX cw ON c (w || id) WHERE b > 100;
     {N} INSERT INTO c (id, a, b) SELECT i, 'k' || i * 31 % 70, i FROM k;",
    "PRAGMA encoding = 'UTF-16le'; PRAGMA page_size = 1024;
     CREATE TABLE d (a INT, b INTEGER, PRIMARY KEY (b)) WITHOUT ROWID;
     CREATE INDEX da ON d (b % 7 DESC, a); CREATE INDEX dp ON d (a) WHERE b > 200;
     {N} INSERT INTO d SELECT i * 3, i FROM k;",
];

/// The bytes of the databases, made once.
static SOUND: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let make = |schema: &&str| {
        let home = Home::new();
        let path = home.path("sound.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(&schema.replace("{N}", NUMBERS)).unwrap();
        assert_eq!(integrity(&connection), "ok");
        drop(connection);
        assert_eq!(problems(&path), "");
        std::fs::read(path).unwrap()
    };
    SCHEMAS.iter().map(make).collect()
});

/// Returns the problems that `check` finds, which must not depend on the number of threads.
fn problems(path: &std::path::Path) -> String {
    let of = |threads| {
        let check = Check::new(path.to_owned()).threads(threads);
        let checked = check.run().unwrap();
        let ours = checked.report.problems.iter().map(ToString::to_string);
        ours.chain(checked.sqlite_problems).map(|problem| problem + "\n").collect::<String>()
    };
    let problems = of(1);
    assert_eq!(of(3), problems);
    problems
}

/// A database to damage.
struct File {
    bytes: Vec<u8>,
    geometry: Geometry,
}

/// A leaf or interior cell with its payload on the page.
#[derive(Clone, Debug)]
struct Cell {
    page: u32,
    /// The number of the cell on its page.
    number: usize,
    /// The offset of the cell on the page.
    start: usize,
    /// The offset of its record on the page.
    record: std::ops::Range<usize>,
}

impl File {
    fn new(schema: Index) -> File {
        let bytes = schema.get(&SOUND).clone();
        let geometry = Header::from_bytes(&bytes).unwrap().geometry;
        File { bytes, geometry }
    }

    fn page_count(&self) -> usize {
        self.bytes.len() / self.geometry.page_bytes()
    }

    fn page(&mut self, number: u32) -> &mut [u8] {
        let page_bytes = self.geometry.page_bytes();
        &mut self.bytes[(number as usize - 1) * page_bytes..][..page_bytes]
    }

    fn half(&mut self, page: u32, at: usize) -> usize {
        usize::from(u16::from_be_bytes(self.page(page)[at..at + 2].try_into().unwrap()))
    }

    fn set_half(&mut self, page: u32, at: usize, to: usize) {
        self.page(page)[at..at + 2].copy_from_slice(&(to as u16).to_be_bytes());
    }

    /// Returns the pages of these kinds, without those of the schema.
    fn pages_of(&mut self, kinds: &[PageKind]) -> Vec<u32> {
        let page_count = self.page_count() as u32;
        let of_kind = |number: &u32| {
            PageKind::from_byte(self.page(*number)[0]).is_some_and(|kind| kinds.contains(&kind))
        };
        (2..=page_count).filter(of_kind).collect()
    }

    /// Returns the cells of a page.
    fn cells(&mut self, page: u32) -> Vec<Cell> {
        let kind = PageKind::from_byte(self.page(page)[0]).unwrap();
        let geometry = self.geometry;
        let count = self.half(page, 3);
        let cell = |number: usize| {
            let start = self.half(page, kind.header_bytes() + number * 2);
            let mut at = start + if kind.is_leaf() { 0 } else { 4 };
            let (payload, n) = varint::read(&self.page(page)[at..]).unwrap();
            at += n;
            let split = match kind {
                PageKind::LeafTable => {
                    at += varint::read(&self.page(page)[at..]).unwrap().1;
                    cell::table_leaf_split(payload as usize, geometry)
                }
                _ => cell::index_split(payload as usize, geometry),
            };
            Cell { page, number, start, record: at..at + split.local }
        };
        (0..count).map(cell).collect()
    }

    /// Returns all cells on pages of these kinds.
    fn cells_of(&mut self, kinds: &[PageKind]) -> Vec<Cell> {
        self.pages_of(kinds).into_iter().flat_map(|page| self.cells(page)).collect()
    }

    /// Takes a cell off its page as SQLite would: its bytes become a freeblock.
    fn remove(&mut self, cell: &Cell) {
        let page = cell.page;
        let header = PageKind::from_byte(self.page(page)[0]).unwrap().header_bytes();
        let count = self.half(page, 3);
        for number in cell.number + 1..count {
            let next = self.half(page, header + number * 2);
            self.set_half(page, header + (number - 1) * 2, next);
        }
        self.set_half(page, 3, count - 1);
        if self.half(page, 1) == 0 {
            self.set_half(page, 1, cell.start);
            self.set_half(page, cell.start, 0);
            self.set_half(page, cell.start + 2, (cell.record.end - cell.start).max(4));
        }
    }
}

const INDEX: &[PageKind] = &[PageKind::LeafIndex, PageKind::InteriorIndex];
const TABLE: &[PageKind] = &[PageKind::LeafTable];
const ENTRIES: &[PageKind] = &[PageKind::LeafIndex, PageKind::InteriorIndex, PageKind::LeafTable];
const INTERIOR: &[PageKind] = &[PageKind::InteriorIndex, PageKind::InteriorTable];
const ALL: &[PageKind] =
    &[PageKind::LeafIndex, PageKind::InteriorIndex, PageKind::LeafTable, PageKind::InteriorTable];

/// A way to damage a file. An `Index` chooses among the places of its kind that the file has.
#[derive(Clone, Debug)]
enum Fault {
    /// A byte anywhere is changed.
    Byte { at: Index, to: u8 },
    /// A byte of a page's header, or of its cell pointers, is changed.
    Head { page: Index, at: usize, to: u8 },
    /// Two pointers of a page change places.
    Pointers { page: Index, cells: [Index; 2] },
    /// Two entries of the same size change places.
    Swap { cells: [Index; 2] },
    /// An entry becomes a copy of another of the same size.
    Copy { cells: [Index; 2] },
    /// A child pointer becomes that of another page.
    Child { page: Index, cell: Index, other: Index },
    /// Two whole pages change places.
    Pages { pages: [Index; 2] },
    /// An entry is removed.
    Remove { cell: Index },
    /// A byte of an entry in an index, or of a row, is changed.
    Value { row: bool, cell: Index, at: Index, to: u8 },
    /// A bit of a serial type, or of the size of the record's header, is changed.
    Type { cell: Index, at: Index, bit: u8 },
}

fn fault() -> impl Strategy<Value = Fault> {
    let two = any::<[Index; 2]>;
    prop_oneof![
        3 => (any::<Index>(), any::<u8>()).prop_map(|(at, to)| Fault::Byte { at, to }),
        2 => (any::<Index>(), 0..40usize, any::<u8>()).prop_map(|(page, at, to)| Fault::Head { page, at, to }),
        1 => (any::<Index>(), two()).prop_map(|(page, cells)| Fault::Pointers { page, cells }),
        2 => two().prop_map(|cells| Fault::Swap { cells }),
        1 => two().prop_map(|cells| Fault::Copy { cells }),
        1 => (any::<Index>(), any::<Index>(), any::<Index>())
            .prop_map(|(page, cell, other)| Fault::Child { page, cell, other }),
        1 => two().prop_map(|pages| Fault::Pages { pages }),
        2 => any::<Index>().prop_map(|cell| Fault::Remove { cell }),
        4 => (any::<bool>(), any::<Index>(), any::<Index>(), any::<u8>())
            .prop_map(|(row, cell, at, to)| Fault::Value { row, cell, at, to }),
        3 => (any::<Index>(), any::<Index>(), 0..8u8).prop_map(|(cell, at, bit)| Fault::Type { cell, at, bit }),
    ]
}

impl Fault {
    fn plant(&self, file: &mut File) {
        match self {
            Fault::Byte { at, to } => {
                let at = at.index(file.bytes.len());
                file.bytes[at] = *to;
            }
            Fault::Head { page, at, to } => {
                let page = *page.get(&file.pages_of(ALL));
                file.page(page)[*at] = *to;
            }
            Fault::Pointers { page, cells } => {
                let page = *page.get(&file.pages_of(ENTRIES));
                let header = PageKind::from_byte(file.page(page)[0]).unwrap().header_bytes();
                let count = file.half(page, 3).max(1);
                let [a, b] = cells.map(|cell| header + cell.index(count) * 2);
                let (at_a, at_b) = (file.half(page, a), file.half(page, b));
                file.set_half(page, a, at_b);
                file.set_half(page, b, at_a);
            }
            Fault::Swap { cells } => {
                if let Some([a, b]) = file.pair(cells) {
                    let [in_a, in_b] =
                        [&a, &b].map(|cell| file.page(cell.page)[cell.record.clone()].to_vec());
                    file.page(a.page)[a.record].copy_from_slice(&in_b);
                    file.page(b.page)[b.record].copy_from_slice(&in_a);
                }
            }
            Fault::Copy { cells } => {
                if let Some([a, b]) = file.pair(cells) {
                    let in_a = file.page(a.page)[a.record].to_vec();
                    file.page(b.page)[b.record].copy_from_slice(&in_a);
                }
            }
            Fault::Child { page, cell, other } => {
                let pages = file.pages_of(INTERIOR);
                if pages.is_empty() {
                    return;
                }
                let (page, other) = (*page.get(&pages), *other.get(&file.pages_of(ALL)));
                let count = file.half(page, 3);
                let at = match cell.index(count + 1) {
                    last if last == count => 8,
                    cell => file.half(page, 12 + cell * 2),
                };
                file.page(page)[at..at + 4].copy_from_slice(&other.to_be_bytes());
            }
            Fault::Pages { pages } => {
                let all = file.pages_of(ALL);
                let [a, b] = pages.map(|page| *page.get(&all));
                let (in_a, in_b) = (file.page(a).to_vec(), file.page(b).to_vec());
                file.page(a).copy_from_slice(&in_b);
                file.page(b).copy_from_slice(&in_a);
            }
            Fault::Remove { cell } => {
                let cell = cell.get(&file.cells_of(&[PageKind::LeafIndex])).clone();
                file.remove(&cell);
            }
            Fault::Value { row, cell, at, to } => {
                let mut cells = file.cells_of(if *row { TABLE } else { INDEX });
                // A file may have only pages of the other kind, since rows of WITHOUT ROWID tables are in index pages.
                if cells.is_empty() {
                    cells = file.cells_of(ENTRIES);
                }
                let cell = cell.get(&cells).clone();
                let record = &mut file.page(cell.page)[cell.record];
                let body = usize::from(record[0]).min(record.len());
                if body < record.len() {
                    let at = body + at.index(record.len() - body);
                    record[at] = *to;
                }
            }
            Fault::Type { cell, at, bit } => {
                let cell = cell.get(&file.cells_of(ENTRIES)).clone();
                let record = &mut file.page(cell.page)[cell.record];
                let header = usize::from(record[0]).clamp(1, record.len());
                record[at.index(header)] ^= 1 << bit;
            }
        }
    }
}

impl File {
    /// Returns two cells on index pages whose records take the same size on the page; `None` if only one cell has the size of the first.
    fn pair(&mut self, cells: &[Index; 2]) -> Option<[Cell; 2]> {
        let all = self.cells_of(INDEX);
        let one = cells[0].get(&all).clone();
        let same: Vec<&Cell> = all
            .iter()
            .filter(|cell| {
                cell.record.len() == one.record.len() && (cell.page, cell.start) != (one.page, one.start)
            })
            .collect();
        let other = (!same.is_empty()).then(|| (*cells[1].get(&same)).clone())?;
        Some([one, other])
    }
}

/// Returns the result of `integrity_check`, or the error if SQLite can't open the file.
fn sqlite_says(path: &std::path::Path) -> String {
    let said = integrity(&Connection::open(path).unwrap());
    // An unknown collation is no fault, because an application may define it. SQLite stops its check there, so the file counts as sound.
    if said.starts_with("no such collation sequence") { "ok".to_owned() } else { said }
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn check_finds_every_fault_that_integrity_check_finds(schema in any::<Index>(), faults in prop::collection::vec(fault(), 1..3)) {
        let mut file = File::new(schema);
        // The place of the second fault is drawn from the file that has the first.
        faults[0].plant(&mut file);
        if let Some(Fault::Byte { .. }) = faults.get(1) {
            faults[1].plant(&mut file);
        }
        let home = Home::new();
        let path = home.path("damaged.db");
        std::fs::write(&path, &file.bytes).unwrap();
        let theirs = sqlite_says(&path);
        let ours = problems(&path);
        prop_assert!(theirs == "ok" || !ours.is_empty(), "SQLite: {theirs}");
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn check_finds_swapped_leaf_pages_of_an_index_in_every_text_encoding(
        encoding in prop::sample::select(vec!["UTF-8", "UTF-16le", "UTF-16be"]),
        collation in prop::sample::select(vec!["BINARY", "NOCASE", "RTRIM"]),
        texts in prop::collection::vec("[a-zA-Z ä😀\u{e000}\u{ffff}]{1,12}", 120..200),
        (one, other) in any::<(Index, Index)>(),
    ) {
        let home = Home::new();
        let path = home.path("x.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(&format!(
            "PRAGMA synchronous = OFF; PRAGMA page_size = 512; PRAGMA encoding = '{encoding}';
             CREATE TABLE t (a TEXT); CREATE INDEX i ON t (a COLLATE {collation}); BEGIN"
        )).unwrap();
        let mut insert = connection.prepare("INSERT INTO t VALUES (?1)").unwrap();
        for text in &texts {
            insert.execute([text]).unwrap();
        }
        drop(insert);
        connection.execute_batch("COMMIT").unwrap();
        drop(connection);
        prop_assert_eq!(problems(&path), "");
        let bytes = std::fs::read(&path).unwrap();
        let geometry = Header::from_bytes(&bytes).unwrap().geometry;
        let mut file = File { bytes, geometry };
        let leaves = file.pages_of(&[PageKind::LeafIndex]);
        let (one, other) = (*one.get(&leaves), *other.get(&leaves));
        prop_assume!(one != other);
        let (first, second) = (file.page(one).to_vec(), file.page(other).to_vec());
        prop_assume!(first != second);
        file.page(one).copy_from_slice(&second);
        file.page(other).copy_from_slice(&first);
        std::fs::write(&path, &file.bytes).unwrap();
        let found = problems(&path);
        prop_assert!(found.contains("does not ascend"), "{} {}: {:?}", encoding, collation, found);
        prop_assert!(sqlite_says(&path) != "ok");
    }
}

/// Plants each kind of fault alone, and compares the message.
#[test]
fn check_names_each_kind_of_fault_of_an_index() {
    let schema = "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT); INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'tea'), (4, 'odd');
        CREATE TABLE w (k PRIMARY KEY, v) WITHOUT ROWID; INSERT INTO w VALUES ('x', 'one'), ('y', 'two')";
    let said = |sql: &str, damage: &str| {
        let home = Home::new();
        let path = home.path("x.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(&format!("{schema}; {sql}")).unwrap();
        // The index is left out of the schema while the table is changed, and so does not get the change.
        connection
            .execute_batch(&format!("PRAGMA writable_schema = on; {damage}; PRAGMA writable_schema = reset;"))
            .unwrap();
        assert_ne!(integrity(&connection), "ok");
        drop(connection);
        problems(&path)
    };
    let forget = "CREATE TEMP TABLE kept AS SELECT * FROM sqlite_schema WHERE name = 'i'; DELETE FROM sqlite_schema WHERE name = 'i';
        PRAGMA writable_schema = reset; PRAGMA writable_schema = on";
    let remember = "INSERT INTO sqlite_schema SELECT * FROM kept";
    let after = |change: &str| format!("{forget}; {change}; {remember}");
    let index = "CREATE INDEX i ON t (a)";
    assert_eq!(
        said(index, &after("UPDATE t SET a = 'six' WHERE id = 2")),
        "i: page 4: the entry of row 2 differs from the row in t\n"
    );
    assert_eq!(
        said(index, &after("INSERT INTO t VALUES (5, 'new')")),
        "index i has 4 entries for 5 rows\nt: page 2: row 5 is missing from index i\n"
    );
    assert_eq!(
        said(index, &after("DELETE FROM t WHERE id = 3")),
        "index i has 4 entries for 3 rows\ni: page 4: the entry of row 3 has no row in t\n"
    );
    assert_eq!(
        said("CREATE INDEX i ON w (v)", &after("UPDATE w SET v = 'six' WHERE k = 'x'")),
        "w: page 3: a row is missing from index i\ni: page 4: an entry has no row in w\n"
    );
    let unique =
        "UPDATE sqlite_schema SET sql = 'CREATE UNIQUE INDEX i ON t (substr(a, 1, 1))' WHERE name = 'i'";
    let found = said("CREATE INDEX i ON t (substr(a, 1, 1))", unique);
    assert!(found.starts_with("i: page 4: the key in the cell at byte "), "{found}");
    assert!(found.ends_with(" equals the key before it, which UNIQUE forbids\n"), "{found}");
    let descending = "UPDATE sqlite_schema SET sql = 'CREATE INDEX i ON t (a DESC)' WHERE name = 'i'";
    assert!(said(index, descending).contains(" does not ascend\n"));
}

#[test]
fn check_names_the_row_of_a_value_that_the_declaration_of_its_column_excludes() {
    let said = |before: &str, rows: &str, after: &str| {
        let home = Home::new();
        let path = home.path("x.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(&format!("CREATE TABLE {before}; INSERT INTO t VALUES {rows}")).unwrap();
        let sql = "PRAGMA writable_schema = on; UPDATE sqlite_schema SET sql = 'CREATE TABLE ' || ?1";
        let mut statements = sql.splitn(2, "; ");
        connection.execute_batch(statements.next().unwrap()).unwrap();
        connection.execute(statements.next().unwrap(), [after]).unwrap();
        drop(connection);
        assert_ne!(sqlite_says(&path), "ok", "{after}");
        problems(&path)
    };
    let of = |what: &str| format!("t: page 2: row 2 has {what} in a, which does not take that\n");
    assert_eq!(said("t (a)", "(1), (NULL)", "t (a NOT NULL)"), of("NULL"));
    assert_eq!(said("t (a)", "('x'), (5)", "t (a TEXT)"), of("an integer"));
    assert_eq!(said("t (a)", "(x''), (0.5)", "t (a TEXT)"), of("a float"));
    assert_eq!(said("t (a)", "('x1'), (' 12.5e3 ')", "t (a INTEGER)"), of("text that is a number"));
    assert_eq!(said("t (a)", "(1), ('x')", "t (a INT) STRICT"), of("text"));
    assert_eq!(said("t (a)", "(1.5), (x'00')", "t (a REAL) STRICT"), of("a blob"));
    assert_eq!(said("t (a)", "('x'), (5)", "t (a TEXT) STRICT"), of("an integer"));
    assert_eq!(said("t (a)", "(x''), ('x')", "t (a BLOB) STRICT"), of("text"));
}
