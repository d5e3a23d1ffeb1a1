//! Commands whose databases must stay the same, byte for byte: `recorded_bytes.txt` has a checksum for each.
//!
//! A change that only moves code must not change a checksum. A change that is meant to change the written bytes records the checksums again
//! with `SQLUICE_RECORD=1 cargo test -p sqluice-cli --test command recorded`, and its commit says why. The number of SQLite's version in
//! the header of a database is ignored.

use std::fmt::Write as _;
use std::fs::{self, File, FileTimes};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use crate::support::{Random, folder, run};

const RECORD: &str = "tests/command/commands/recorded_bytes.txt";

/// The bytes of the header with the number of SQLite's version ([§1.3](https://www.sqlite.org/fileformat2.html#the_database_header)).
const VERSION_NUMBER: std::ops::Range<usize> = 96..100;

#[test]
#[cfg_attr(windows, ignore = "the recorded bytes hold modes of Unix")]
fn commands_write_databases_with_the_recorded_checksums() {
    let home = folder();
    make_inputs(home.path());
    let record = fs::read_to_string(RECORD).unwrap();
    let recorded: Vec<(&str, &str)> =
        record.lines().map(|line| line.split_once(' ').expect("a checksum and a command")).collect();
    assert!(recorded.len() >= 60, "{} commands are recorded", recorded.len());
    let next = AtomicUsize::new(0);
    let mut found: Vec<(usize, String)> = std::thread::scope(|scope| {
        let work = || {
            let mut found = Vec::new();
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some((_, commands)) = recorded.get(place) else { return found };
                found.push((place, checksum_of(home.path(), place, commands)));
            }
        };
        let threads = [scope.spawn(work), scope.spawn(work)];
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    found.sort();
    let now: Vec<&str> = found.iter().map(|(_, checksum)| checksum.as_str()).collect();
    if std::env::var_os("SQLUICE_RECORD").is_some() {
        let lines = now.iter().zip(&recorded).map(|(now, (_, commands))| format!("{now} {commands}\n"));
        fs::write(RECORD, lines.collect::<String>()).unwrap();
        return;
    }
    let changed = now.iter().zip(&recorded).filter(|(now, (before, _))| *now != before);
    let changed: Vec<&str> = changed.map(|(_, (_, commands))| *commands).collect();
    assert!(changed.is_empty(), "these write other bytes than recorded:\n{}", changed.join("\n"));
}

/// Runs commands, which are separated by semicolons, in a new folder beside the inputs, and returns the hash of the `out.db` that they
/// write. A tilde stands for a space within an argument.
fn checksum_of(home: &Path, place: usize, commands: &str) -> String {
    let own = home.join(format!("run {place}"));
    fs::create_dir(&own).unwrap();
    for command in commands.split(" ; ") {
        run(&own, command.split_whitespace().map(|arg| arg.replace('~', " "))).ok();
    }
    let mut bytes = fs::read(own.join("out.db")).unwrap();
    bytes[VERSION_NUMBER].fill(0);
    fs::remove_dir_all(&own).unwrap();
    let fnv_1a = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    format!("{:016x}", bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, fnv_1a))
}

/// A row of the inputs. Values are text; an empty text is NULL.
struct Row {
    id: u64,
    name: String,
    amount: String,
    code: String,
    day: String,
    note: String,
}

fn rows(count: u64) -> Vec<Row> {
    let mut random = Random::seeded(21);
    let mut rows: Vec<Row> = (0..count)
        .map(|id| {
            let cents = random.next() % 10_000_000;
            let words = match random.next() % 40 {
                0 => 1500,
                1..20 => 0,
                more => more as usize / 3,
            };
            let mut note = String::new();
            for _ in 0..words {
                write!(note, "w{} ", random.next() % 1000).unwrap();
            }
            Row {
                id: id * 3 + 1,
                name: ["Ada, Countess", "Grace \"H\"", "Zoë", "line\nbreak", "plain"]
                    [random.next() as usize % 5]
                    .to_owned(),
                amount: format!("{}.{:02}", cents / 100, cents % 100),
                code: format!("{:05}", random.next() % 300),
                day: format!(
                    "20{:02}-{:02}-{:02}",
                    random.next() % 25,
                    1 + random.next() % 12,
                    1 + random.next() % 28
                ),
                note,
            }
        })
        .collect();
    // Shuffle the rows.
    for last in (1..rows.len()).rev() {
        rows.swap(last, random.next() as usize % (last + 1));
    }
    rows
}

/// Returns the rows as delimited text: a header, and a number at the end of each row.
fn delimited(rows: &[Row], delimiter: char) -> String {
    let field = |text: &str| match text.contains([delimiter, '"', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    };
    let mut text = ["id", "name", "amount", "code", "day", "note", "nr\n"].join(&delimiter.to_string());
    for (nr, row) in rows.iter().enumerate() {
        let fields =
            [&row.id.to_string(), &row.name, &row.amount, &row.code, &row.day, &row.note, &nr.to_string()];
        text += &fields.map(|text| field(text)).join(&delimiter.to_string());
        text.push('\n');
    }
    text
}

fn json(row: &Row) -> String {
    let Row { id, name, amount, code, day, note } = row;
    let note = if note.is_empty() { "null".to_owned() } else { format!("{note:?}") };
    format!(
        r#"{{"id":{id},"name":{name:?},"amount":{amount},"tags":["{code}",1.50,{{"day":"{day}"}}],"note":{note}}}"#
    )
}

const SCHEMA: &str = "
    CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL, amount NUMERIC, code TEXT, day TEXT, note TEXT,
        nr INT, cents INT AS (round(amount * 100)) STORED, CHECK (length(code) = 5));
    CREATE INDEX people_late ON people (day DESC) WHERE day > '2020';
    CREATE UNIQUE INDEX people_nr ON people (nr, lower(name));
    CREATE VIEW rich AS SELECT name FROM people WHERE amount > 90000;
    CREATE TABLE log (text);
    CREATE TRIGGER noted AFTER INSERT ON people BEGIN INSERT INTO log VALUES (new.name); END;
";

const GENERATED: &str = "
    CREATE TABLE areas (code TEXT PRIMARY KEY, name TEXT COLLATE NOCASE UNIQUE) WITHOUT ROWID;
    CREATE TABLE people (id INTEGER PRIMARY KEY AUTOINCREMENT, area TEXT REFERENCES areas, email TEXT UNIQUE, born DATE,
        balance REAL, picture BLOB, CHECK (balance >= 0));
    CREATE INDEX people_born ON people (born DESC, balance);
";

fn make_inputs(home: &Path) {
    let people = rows(3000);
    let put = |name: &str, bytes: &[u8]| fs::write(home.join(name), bytes).unwrap();
    let csv = delimited(&people, ',');
    put("people.csv", csv.as_bytes());
    put("people.tsv", delimited(&people, '\t').as_bytes());
    put("people.txt", delimited(&people, '|').as_bytes());
    put("comma.csv", delimited(&people, ';').replace('.', ",").as_bytes());
    let utf16: Vec<u8> = csv.encode_utf16().flat_map(u16::to_le_bytes).collect();
    put("utf16.csv", &[&[0xff, 0xfe], &utf16[..]].concat());
    let latin: Vec<u8> = csv.chars().map(|c| u8::try_from(c).unwrap()).collect();
    put("latin.csv", &latin);
    let mut sorted = rows(3000);
    sorted.sort_by_key(|row| row.id);
    put("sorted.csv", delimited(&sorted, ',').as_bytes());
    let more: Vec<Row> = rows(2500).into_iter().map(|row| Row { id: row.id + 100_000, ..row }).collect();
    put("more.csv", delimited(&more, ',').as_bytes());
    let again: Vec<Row> = rows(400).into_iter().chain(rows(300)).collect();
    put("again.csv", delimited(&again, ',').as_bytes());
    put("bad.csv", (delimited(&again[..300], ',') + "1,2,3\n4,5,6,7,8,9,10,11\n").as_bytes());
    let lines: Vec<String> = people.iter().map(json).collect();
    put("people.ndjson", lines.join("\n").as_bytes());
    put("people.json", format!("[{}]", lines.join(",\n")).as_bytes());
    put("schema.sql", SCHEMA.as_bytes());
    put("generated.sql", GENERATED.as_bytes());
    for files in ["data/ourairports", "data/parquet", "schemas"] {
        let files = Path::new("../sqluice/tests").join(files);
        for file in crate::support::names(&files).into_iter().filter(|name| files.join(name).is_file()) {
            fs::copy(files.join(&file), home.join(&file)).unwrap();
        }
    }
    let tree = home.join("tree");
    fs::create_dir_all(tree.join("below/deep")).unwrap();
    for (nr, row) in people.iter().take(200).enumerate() {
        let folder = ["", "below/", "below/deep/"][nr % 3];
        put(&format!("tree/{folder}{}.txt", row.id), row.note.as_bytes());
    }
    for (nr, entry) in walk(&tree).into_iter().enumerate() {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = if entry.is_dir() { 0o755 } else { 0o644 };
            fs::set_permissions(&entry, fs::Permissions::from_mode(mode)).unwrap();
        }
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + nr as u64);
        File::open(&entry).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
    }
}

/// Returns a folder and all files and folders below it, sorted by name.
fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = vec![folder.to_owned()];
    for name in crate::support::names(folder) {
        let path = folder.join(name);
        if path.is_dir() { found.extend(walk(&path)) } else { found.push(path) }
    }
    found
}
