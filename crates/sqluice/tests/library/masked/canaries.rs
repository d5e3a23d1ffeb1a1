//! Random schemas with canaries in columns with and without a mask: a canary is gone from the copy, or the plan and the report name its
//! column, and neither they nor an error has the canary.
//!
//! A kind of place is a function of [`PLACES`]. It plants canaries, and names the columns that keep them.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use fastrand::Rng;
use rusqlite::Connection;
use sqluice::copy::MaskPlan;

use super::{Lab, masking};
use sqluice_testkit::effort::tries;

/// The number of letters of a canary that are searched for. Fewer would occur by chance.
const LETTERS: usize = 9;

/// A database that gets canaries.
struct Garden<'g> {
    rng: &'g mut Rng,
    connection: &'g Connection,
    /// The canaries that a mask hides everywhere.
    hidden: BTreeSet<String>,
    /// The canaries that columns without a mask keep, with these columns.
    kept: BTreeMap<String, BTreeSet<String>>,
    masks: Vec<String>,
    /// The number of the next table.
    next: usize,
}

/// A kind of place for canaries.
type Plant = fn(&mut Garden<'_>);

/// The kinds of places: their names, and the functions that plant canaries there.
const PLACES: [(&str, Plant); 9] = [
    ("late rows", late_row),
    ("JSON", json),
    ("blobs", blob),
    ("keys and values", pair),
    ("second places", second_place),
    ("full-text tables with text", full_text),
    ("full-text tables over others", full_text_over_masked),
    ("indexes on expressions and statistics", statistics),
    ("computed columns", computed),
];

impl Garden<'_> {
    fn word(&mut self, length: usize) -> String {
        (0..length).map(|_| self.rng.lowercase()).collect()
    }

    fn mail(&mut self) -> String {
        format!("{}@{}.org", self.word(10), self.word(8))
    }

    fn table(&mut self, kind: &str) -> String {
        self.next += 1;
        format!("{kind}{}", self.next)
    }

    fn run(&self, sql: &str) {
        self.connection.execute_batch(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
    }

    fn keep(&mut self, canary: String, column: String) {
        self.kept.entry(canary).or_default().insert(column);
    }

    /// Fills a column with values that are no canaries.
    fn fill(&mut self, table: &str, column: &str, value: &str) {
        let rows = self.rng.usize(1..1500);
        self.run(&format!(
            "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < {rows}) INSERT INTO {table} ({column}) SELECT {value} FROM n"
        ));
    }

    /// Creates a table with a masked column, and returns the canaries in it.
    fn masked(&mut self, more: &str) -> (String, Vec<String>) {
        let table = self.table("m");
        let unique = if self.rng.bool() { "UNIQUE" } else { "" };
        self.run(&format!(
            "CREATE TABLE {table} (id INTEGER PRIMARY KEY, held TEXT {unique}, other TEXT{more})"
        ));
        let canaries: Vec<String> = (0..self.rng.usize(1..300)).map(|_| self.word(12)).collect();
        for canary in &canaries {
            self.run(&format!("INSERT INTO {table} (held) VALUES ('{canary}')"));
        }
        self.hidden.extend(canaries.iter().cloned());
        let mask = if self.rng.bool() { "shape()" } else { "email()" };
        self.masks.push(format!("CREATE TABLE {table} (held /* gen: {mask} */)"));
        (table, canaries)
    }
}

fn late_row(garden: &mut Garden<'_>) {
    let (table, mail) = (garden.table("late"), garden.mail());
    let key = if garden.rng.bool() { "k INTEGER PRIMARY KEY, " } else { "" };
    let of_type = ["TEXT", "", "INT"][garden.rng.usize(0..3)];
    garden.run(&format!("CREATE TABLE {table} ({key}line {of_type})"));
    let values = ["'row ' || i", "i", "NULL", "i * 1.5", "x'01'"];
    let value = values[garden.rng.usize(0..values.len())];
    garden.fill(&table, "line", value);
    let text = if garden.rng.bool() { mail.clone() } else { format!("write to <{mail}>, please") };
    garden.run(&format!("INSERT INTO {table} (line) VALUES ('{text}')"));
    garden.fill(&table, "line", value);
    garden.keep(mail, format!("{table}.line"));
}

fn json(garden: &mut Garden<'_>) {
    let (table, mail) = (garden.table("json"), garden.mail());
    garden.run(&format!("CREATE TABLE {table} (k INTEGER PRIMARY KEY, doc)"));
    garden.fill(&table, "doc", "json_object('n', i)");
    let secret = garden.word(14);
    let (canary, doc) = match garden.rng.u8(0..3) {
        0 => (mail.clone(), format!("'{{\"a\": [1, {{\"b\": \"{mail}\"}}]}}'")),
        1 => (mail.clone(), format!("jsonb('{{\"a\": \"{mail}\"}}')")),
        _ => (secret.clone(), format!("'{{\"a\": {{\"api_token\": \"{secret}\"}}}}'")),
    };
    garden.run(&format!("INSERT INTO {table} (doc) VALUES ({doc})"));
    garden.keep(canary, format!("{table}.doc"));
}

fn blob(garden: &mut Garden<'_>) {
    let (table, mail) = (garden.table("blob"), garden.mail());
    garden.run(&format!("CREATE TABLE {table} (k INTEGER PRIMARY KEY, raw BLOB)"));
    garden.fill(&table, "raw", "zeroblob(i % 30)");
    let long = garden.rng.usize(0..20_000);
    garden.run(&format!(
        "INSERT INTO {table} (raw) VALUES (CAST(zeroblob({long}) || x'ff' || '{mail}' || x'00fe' AS BLOB))"
    ));
    garden.keep(mail, format!("{table}.raw"));
}

fn pair(garden: &mut Garden<'_>) {
    let (table, secret) = (garden.table("pairs"), garden.word(14));
    let without = if garden.rng.bool() { "WITHOUT ROWID" } else { "" };
    garden.run(&format!("CREATE TABLE {table} (name TEXT PRIMARY KEY, value) {without}"));
    garden.fill(&table, "name, value", "'k' || i, i");
    let keys = ["passphrase", "api_token", "client.secret", "SmtpPassword"];
    let key = keys[garden.rng.usize(0..keys.len())];
    garden.run(&format!("INSERT INTO {table} VALUES ('{key}', '{secret}')"));
    garden.keep(secret, format!("{table}.value"));
}

fn second_place(garden: &mut Garden<'_>) {
    let (masked, canaries) = garden.masked("");
    let table = garden.table("second");
    garden.run(&format!("CREATE TABLE {table} (k INTEGER PRIMARY KEY, ship TEXT)"));
    garden.fill(&table, "ship", "'to ' || i");
    let count = garden.rng.usize(1..=canaries.len());
    let (table, column) = match garden.rng.u8(0..3) {
        0 => (masked, "other"),
        _ => (table, "ship"),
    };
    for canary in &canaries[..count] {
        garden.run(&format!("INSERT INTO {table} ({column}) VALUES ('{canary}')"));
        garden.hidden.remove(canary);
        garden.keep(canary.clone(), format!("{table}.{column}"));
    }
}

fn full_text(garden: &mut Garden<'_>) {
    let (table, mail, hidden) = (garden.table("words"), garden.mail(), garden.word(12));
    let module = if garden.rng.bool() { "fts5" } else { "fts4" };
    garden.run(&format!("CREATE VIRTUAL TABLE {table} USING {module}(said, heard)"));
    garden.fill(&table, "heard", "'plain ' || i");
    garden.run(&format!("INSERT INTO {table} (said, heard) VALUES ('{hidden}', '{mail}')"));
    garden.masks.push(format!("CREATE TABLE {table} (said /* gen: shape() */)"));
    garden.hidden.insert(hidden);
    garden.keep(mail, format!("{table}.heard"));
}

fn full_text_over_masked(garden: &mut Garden<'_>) {
    let (masked, _) = garden.masked("");
    let table = garden.table("over");
    garden.run(&format!(
        "CREATE VIRTUAL TABLE {table} USING fts5(held, other, content = '{masked}', content_rowid = 'id');
         INSERT INTO {table} ({table}) VALUES ('rebuild')"
    ));
}

fn statistics(garden: &mut Garden<'_>) {
    let (masked, _) = garden.masked("");
    garden.run(&format!(
        "CREATE INDEX {masked}held ON {masked} (held, other); CREATE INDEX {masked}upper ON {masked} (lower(held)) WHERE id > 3; ANALYZE"
    ));
}

fn computed(garden: &mut Garden<'_>) {
    let kind = if garden.rng.bool() { "STORED" } else { "VIRTUAL" };
    let more = format!(", twice TEXT AS (held || held) {kind}, email AS (lower(twice))");
    let (masked, _) = garden.masked(&more);
    garden.run(&format!("CREATE INDEX {masked}email ON {masked} (email)"));
}

/// Returns the columns that a plan or report names.
fn named(plan: &MaskPlan) -> BTreeSet<String> {
    let warnings = plan.warnings.iter().map(|found| format!("{}.{}", found.table, found.column));
    let places = plan.second_places.iter().map(|place| format!("{}.{}", place.table, place.column));
    warnings.chain(places).collect()
}

/// Returns the canaries whose first letters are in a file, in any case.
fn found<'c>(file: &[u8], canaries: &'c BTreeSet<String>) -> Vec<&'c String> {
    let lower = file.to_ascii_lowercase();
    let windows: HashSet<&[u8]> = lower.windows(LETTERS).collect();
    canaries.iter().filter(|canary| windows.contains(&canary.as_bytes()[..LETTERS])).collect()
}

#[test]
fn a_planted_value_is_masked_or_the_report_names_its_column_without_the_value() {
    let mut planted = BTreeMap::new();
    let mut passed = 0;
    for seed in 0..tries(12, 80, 1000) {
        let mut rng = Rng::with_seed(seed);
        let lab = Lab::empty();
        let connection = lab.old();
        let (hidden, kept, masks) = (BTreeSet::new(), BTreeMap::new(), Vec::new());
        let mut garden = Garden { rng: &mut rng, connection: &connection, hidden, kept, masks, next: 0 };
        garden.run("PRAGMA page_size = 1024; BEGIN");
        // A quarter of the databases have only the last kinds of places, in which a mask reaches every canary.
        let places = if seed % 4 == 3 { &PLACES[6..] } else { &PLACES[..] };
        garden.masked("");
        for _ in 0..garden.rng.usize(1..5) {
            let (name, plant) = places[garden.rng.usize(0..places.len())];
            plant(&mut garden);
            *planted.entry(name).or_insert(0) += 1;
        }
        garden.run("COMMIT");
        let Garden { hidden, kept, masks, .. } = garden;
        let masks = masks.join(";");
        let about = format!("seed {seed}: {masks}");

        let report = lab.copy(masking(&masks)).run().unwrap_or_else(|error| panic!("{about}: {error}"));
        lab.assert_sound();
        let mask = report.mask.as_ref().unwrap();
        let file = std::fs::read(lab.path("copy.db")).unwrap();
        let columns: BTreeSet<String> = kept.values().flatten().cloned().collect();
        assert_eq!(named(mask), columns, "{about}");
        let refused = lab.copy(masking(&masks).strict(true)).run_over();
        let said = format!("{report:?} {mask} {refused:?}");
        for canary in hidden.iter().chain(kept.keys()) {
            assert!(!said.contains(canary.as_str()), "{about}: the report has {canary}");
        }
        let left = found(&file, &hidden);
        assert!(left.is_empty(), "{about}: the copy has {left:?}");
        match (columns.is_empty(), refused) {
            (true, Ok(_)) => passed += 1,
            (true, Err(error)) => panic!("{about}: {error}"),
            (false, Ok(_)) => panic!("{about}: a strict copy has {columns:?}"),
            (false, Err(_)) => {
                lab.copy(masking(&masks).strict(true).allow(columns)).run_over().unwrap();
            }
        }
    }
    assert!(planted.len() == PLACES.len() || tries(true, false, false), "{planted:?}");
    assert!(passed > 0, "no strict copy passed");
}

/// A copy that replaces an earlier copy.
trait RunOver {
    fn run_over(self) -> Result<sqluice::copy::CopyReport, sqluice::error::Error>;
}

impl RunOver for sqluice::copy::Copy {
    fn run_over(mut self) -> Result<sqluice::copy::CopyReport, sqluice::error::Error> {
        self.write.overwrite = true;
        self.run()
    }
}
