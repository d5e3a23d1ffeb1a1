//! Canaries: rare values that are planted wherever a database keeps bytes, and must be in no byte of a masked copy.

use std::collections::HashSet;
use std::fmt::Write as _;

use fastrand::Rng;
use rusqlite::Connection;
use rusqlite::types::Value;

use super::{Lab, masking};
use sqluice_testkit::effort::tries;

/// The number of letters or bytes of a canary that are searched for. Fewer would occur by chance.
const WINDOW: usize = 12;

/// The canaries, and the byte sequences that are searched for.
#[derive(Default)]
struct Canaries {
    windows: HashSet<Vec<u8>>,
    numbers: HashSet<[u8; 8]>,
    utf16: bool,
}

impl Canaries {
    fn text(&mut self, rng: &mut Rng, length: usize) -> String {
        let text: String = (0..length.max(WINDOW)).map(|_| rng.alphabetic()).collect();
        let bytes = match self.utf16 {
            true => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            false => text.clone().into_bytes(),
        };
        self.add(&bytes);
        // SQLite keeps the words of a full-text table in small letters.
        self.add(text.to_lowercase().as_bytes());
        text
    }

    fn blob(&mut self, rng: &mut Rng, length: usize) -> Vec<u8> {
        let bytes: Vec<u8> = (0..length.max(self.window())).map(|_| rng.u8(..)).collect();
        self.add(&bytes);
        bytes
    }

    fn int(&mut self, rng: &mut Rng) -> i64 {
        let int = rng.i64(1 << 58..1 << 62);
        self.numbers.insert(int.to_be_bytes());
        int
    }

    fn real(&mut self, rng: &mut Rng) -> f64 {
        let real = rng.f64() + 0.001;
        self.numbers.insert(real.to_bits().to_be_bytes());
        real
    }

    /// Returns the length of the byte sequences that are searched for.
    fn window(&self) -> usize {
        if self.utf16 { 2 * WINDOW } else { WINDOW }
    }

    /// Adds the byte sequences of a value that are searched for: one from every 96th byte on, and the last one, because a page may end
    /// within the value.
    fn add(&mut self, bytes: &[u8]) {
        let last = bytes.len() - self.window().min(bytes.len());
        for at in (0..=last).step_by(96).chain([last]) {
            self.windows.insert(bytes[at..(at + self.window()).min(bytes.len())].to_vec());
        }
    }

    /// Returns the offsets of canaries in a file.
    fn found(&self, file: &[u8]) -> Vec<usize> {
        let mut found: Vec<usize> = file
            .windows(self.window())
            .enumerate()
            .filter(|(_, window)| self.windows.contains(*window))
            .map(|(at, _)| at)
            .collect();
        let numbers = file.windows(8).enumerate().filter(|(_, window)| self.numbers.contains(*window));
        found.extend(numbers.map(|(at, _)| at));
        found
    }
}

fn pick<'a>(rng: &mut Rng, of: &[&'a str]) -> &'a str {
    rng.choice(of).unwrap()
}

/// Fills a database with canaries. Returns the masks that hide them.
fn plant(rng: &mut Rng, connection: &Connection, canaries: &mut Canaries) -> String {
    let encoding = if canaries.utf16 { "UTF-16le" } else { "UTF-8" };
    connection
        .execute_batch(&format!(
            "PRAGMA page_size = {}; PRAGMA encoding = '{encoding}'; PRAGMA auto_vacuum = {};",
            512 << rng.u32(0..4),
            if rng.u8(0..4) == 0 { 1 } else { 0 }
        ))
        .unwrap();
    if rng.bool() {
        connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
        connection.execute_batch("PRAGMA wal_autocheckpoint = 3").unwrap();
    }
    let mut masks = String::new();
    let tables = rng.usize(1..4);
    for table in 0..tables {
        let strict = rng.u8(0..4) == 0;
        let key = pick(rng, &["k INTEGER PRIMARY KEY", "k INTEGER", "k INTEGER UNIQUE"]);
        let (key, without) = match rng.u8(0..4) {
            0 => ("k INTEGER, PRIMARY KEY (s, k)", true),
            _ => (key, false),
        };
        let options = match (strict, without) {
            (true, true) => "STRICT, WITHOUT ROWID",
            (true, false) => "STRICT",
            (false, true) => "WITHOUT ROWID",
            (false, false) => "",
        };
        let unique = if rng.bool() { "UNIQUE" } else { "" };
        let key_first = format!("s TEXT {unique}, b BLOB, i INTEGER, r REAL, keep TEXT, {key}");
        connection.execute_batch(&format!("CREATE TABLE t{table} ({key_first}) {options}")).unwrap();
        for index in ["s", "b, keep", "i DESC", "r, s"] {
            if rng.bool() {
                let name = index.replace([',', ' '], "");
                connection
                    .execute_batch(&format!("CREATE INDEX i{table}{name} ON t{table} ({index})"))
                    .unwrap();
            }
        }
        if rng.bool() {
            connection
                .execute_batch(&format!("CREATE INDEX p{table} ON t{table} (upper(s)) WHERE keep <> 'x'"))
                .unwrap();
        }
        let is_key = without || !unique.is_empty();
        let text = if is_key {
            pick(rng, &["shape()", "email()", "uuid4()"])
        } else {
            pick(rng, &["shape()", "email()", "sentence()", "'gone'", "NULL"])
        };
        write!(
            masks,
            "CREATE TABLE t{table} (s /* gen: {text} */, b /* gen: {} */, i /* gen: {} */, r /* gen: {} */);",
            pick(rng, &["shape()", "blob(3, 30)"]),
            pick(rng, &["shape()", "permute()", "noise(0.5)", "int(1, 9)"]),
            pick(rng, &["shape()", "noise(0.5)", "real(0, 1)"]),
        )
        .unwrap();
        fill(rng, connection, canaries, table);
        if rng.bool() && !without && !canaries.utf16 {
            full_text(rng, connection, canaries, table, &mut masks);
        }
    }
    if rng.bool() {
        connection.execute_batch("ANALYZE").unwrap();
    }
    masks
}

/// Inserts rows with canaries in masked columns. The canaries of some rows are deleted or changed later.
fn fill(rng: &mut Rng, connection: &Connection, canaries: &mut Canaries, table: usize) {
    let insert = format!("INSERT INTO t{table} (s, b, i, r, keep, k) VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
    connection.execute_batch("BEGIN").unwrap();
    for row in 0..rng.i64(5..120) {
        let long = if rng.u8(0..12) == 0 { rng.usize(500..9000) } else { 20 };
        let (s, b) = (canaries.text(rng, long), canaries.blob(rng, long / 2));
        let (i, r) = (canaries.int(rng), canaries.real(rng));
        // Column keep has no mask. It has a canary only until the UPDATE below, so the canary must be gone, too.
        let keep = canaries.text(rng, 30);
        let values = (Value::Text(s), Value::Blob(b), i, r, keep, row);
        connection.execute(&insert, values).unwrap();
    }
    connection.execute_batch("COMMIT").unwrap();
    connection
        .execute_batch(&format!(
            "DELETE FROM t{table} WHERE k % 5 = 1; UPDATE t{table} SET keep = 'kept ' || k"
        ))
        .unwrap();
}

/// Creates full-text tables over a table, and one that stores its own text.
fn full_text(
    rng: &mut Rng,
    connection: &Connection,
    canaries: &mut Canaries,
    table: usize,
    masks: &mut String,
) {
    if rng.bool() {
        connection
            .execute_batch(&format!(
                "CREATE VIRTUAL TABLE f{table} USING fts5(s, keep, content = 't{table}', content_rowid = 'rowid');
                 INSERT INTO f{table} (f{table}) VALUES ('rebuild');"
            ))
            .unwrap();
    }
    let module = pick(rng, &["fts5(s, other)", "fts4(s, other)"]);
    connection.execute_batch(&format!("CREATE VIRTUAL TABLE own{table} USING {module}")).unwrap();
    for row in 1..20 {
        let values = (row, canaries.text(rng, 30), canaries.text(rng, 30));
        connection
            .execute(&format!("INSERT INTO own{table} (rowid, s, other) VALUES (?1, ?2, ?3)"), values)
            .unwrap();
    }
    connection
        .execute_batch(&format!(
            "UPDATE own{table} SET other = 'other'; DELETE FROM own{table} WHERE rowid % 4 = 0"
        ))
        .unwrap();
    write!(masks, "CREATE TABLE own{table} (s /* gen: shape() */);").unwrap();
}

#[test]
fn no_byte_of_a_masked_copy_belongs_to_a_planted_value_of_a_masked_column() {
    let mut of_kinds = [0; 3];
    for seed in 0..tries(12, 60, 1000) {
        let mut rng = Rng::with_seed(seed);
        let mut canaries = Canaries { utf16: rng.u8(0..8) == 0, ..Canaries::default() };
        let lab = Lab::empty();
        let connection = lab.old();
        let masks = plant(&mut rng, &connection, &mut canaries);
        of_kinds[0] += usize::from(canaries.utf16);
        of_kinds[1] += usize::from(masks.contains("own"));
        let mut copy = lab.copy(masking(&masks)).interior_first(rng.u8(0..5) == 0);
        copy.auto_vacuum = copy.interior_first.then_some(sqluice::copy::AutoVacuum::None);
        let report = copy.run().unwrap_or_else(|error| panic!("seed {seed}: {error}: {masks}"));
        of_kinds[2] += usize::from(!report.mask.unwrap().dropped.is_empty());
        lab.assert_sound();
        let mut source = std::fs::read(&lab.source).unwrap();
        source.extend(std::fs::read(lab.path("source.db-wal")).unwrap_or_default());
        assert!(canaries.found(&source).len() > 10, "seed {seed}: the source has no canaries");
        let copied = std::fs::read(lab.path("copy.db")).unwrap();
        let found = canaries.found(&copied);
        let near: Vec<&[u8]> =
            found.iter().map(|at| &copied[*at..(at + canaries.window()).min(copied.len())]).collect();
        assert!(found.is_empty(), "seed {seed}: canaries at {found:?}, {near:?}: {masks}");
        assert_eq!(
            sqluice_testkit::names(lab.folder.path())
                .iter()
                .filter(|name| !name.starts_with("source"))
                .count(),
            1,
            "seed {seed}: something is left beside the copy"
        );
    }
    assert!(of_kinds.iter().all(|count| *count > tries(0, 2, 2)), "{of_kinds:?}");
}

#[test]
fn a_copy_without_masks_contains_the_planted_values() {
    let mut rng = Rng::with_seed(1);
    let mut canaries = Canaries::default();
    let lab = Lab::empty();
    plant(&mut rng, &lab.old(), &mut canaries);
    sqluice::copy::Copy::new(&lab.source, lab.path("copy.db")).run().unwrap();
    assert!(canaries.found(&std::fs::read(lab.path("copy.db")).unwrap()).len() > 10);
}
