//! Measures how fast SQLite inserts rows (through `sqluice_rows`, by prepared INSERTs of several rows, by a copy from an attached database)
//! and how fast SQLite finds rows by many keys (through `sqluice_rows`, through carray, through a temporary table). `cargo bench -p
//! sqluice-engine --bench rows [-- NAME [ROWS]]`. NAME is `insert`, `indexed` (into a table with an index), `batch` (by the number of rows
//! of a statement) or `in` (many keys).
//!
//! All statements that are compared run in every round, and the best round of each counts. Prints seconds, and seconds of CPU of the thread
//! that runs SQLite, which say more on a busy machine. Asserts that the right rows are stored and found.
#![allow(clippy::print_stdout)]

use std::path::Path;
use std::time::Instant;

use rusqlite::types::{ToSqlOutput, Value};
use rusqlite::{Connection, ToSql, params_from_iter};
use sqluice_core::batch::{self, Batch, Bytes, ROWS_MAX, Spans, Values};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Context;
use sqluice_core::rows::{self, Rows};
use sqluice_core::schema::Schema;
use sqluice_core::source::{Part, Sink, Source};
use sqluice_core::splitmix;
use sqluice_engine::encode::Coercion;
use sqluice_engine::insert::{Insert, insert};

const ROUNDS: usize = 3;

const USER: &str =
    "CREATE TABLE user (id INTEGER PRIMARY KEY, area CHAR(6), age INTEGER NOT NULL, active INTEGER NOT NULL)";

/// Seconds, and seconds that this thread was on a CPU.
#[derive(Clone, Copy)]
struct Seconds {
    wall: f64,
    cpu: f64,
}

/// Seconds that this thread has been on a CPU.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

fn time<T>(run: impl FnOnce() -> T) -> (Seconds, T) {
    let (started, before) = (Instant::now(), cpu());
    let done = run();
    (Seconds { wall: started.elapsed().as_secs_f64(), cpu: cpu() - before }, done)
}

/// Rows of `user`, column by column.
#[derive(Clone)]
struct Users {
    id: Vec<i64>,
    area: Vec<u8>,
    age: Vec<i64>,
    active: Vec<i64>,
}

impl Users {
    fn new(rows: usize) -> Users {
        let each = || 0..rows as u64;
        Users {
            id: each().map(|row| row as i64 + 1).collect(),
            area: each()
                .flat_map(|row| format!("{:06}", splitmix::nth(row) % 1_000_000).into_bytes())
                .collect(),
            age: each().map(|row| [5, 10, 15][(splitmix::nth(row) >> 20) as usize % 3]).collect(),
            active: each().map(|row| (splitmix::nth(row) >> 40) as i64 & 1).collect(),
        }
    }

    fn batch(&self, from: usize, to: usize) -> Batch<'_> {
        let area = Bytes { data: &self.area[6 * from..6 * to], spans: Spans::Fixed(6) };
        let columns = [
            Values::Int(&self.id[from..to]),
            Values::Text(area),
            Values::Int(&self.age[from..to]),
            Values::Int(&self.active[from..to]),
        ];
        Batch { rows: to - from, columns: columns.map(batch::Column::new).to_vec() }
    }

    fn area(&self, row: usize) -> &str {
        std::str::from_utf8(&self.area[6 * row..6 * row + 6]).expect("digits")
    }
}

/// The users as a source.
struct Parts<'u> {
    users: &'u Users,
    next: usize,
}

const PART: usize = 64 * ROWS_MAX;

struct UsersPart {
    users: Users,
    first: usize,
}

impl Source for Parts<'_> {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        let (from, rows) = (self.next, self.users.id.len());
        if from == rows {
            return Ok(None);
        }
        self.next = (from + PART).min(rows);
        let (of, users) = (from..self.next, self.users);
        let users = Users {
            id: users.id[of.clone()].to_vec(),
            area: users.area[6 * of.start..6 * of.end].to_vec(),
            age: users.age[of.clone()].to_vec(),
            active: users.active[of].to_vec(),
        };
        Ok(Some(Box::new(UsersPart { users, first: from })))
    }
}

impl Part for UsersPart {
    fn first_row(&self) -> u64 {
        self.first as u64
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let rows = self.users.id.len();
        for from in (0..rows).step_by(ROWS_MAX) {
            let batch = self.users.batch(from, (from + ROWS_MAX).min(rows));
            sink.rows(&batch).map_err(|refused| refused.first().1)?;
        }
        Ok(())
    }
}

/// Fills the table of a new database, in one transaction, with the PRAGMAs that a connection has by default.
fn fill(folder: &Path, sql: &str, users: &Users, fill: &dyn Fn(&Connection)) -> Seconds {
    let path = folder.join("new.db");
    let _ = std::fs::remove_file(&path);
    let connection = Connection::open(&path).expect("a new database");
    connection.execute_batch(sql).expect("a table");
    let (seconds, ()) = time(|| {
        connection.execute_batch("BEGIN").expect("a transaction");
        fill(&connection);
        if !connection.is_autocommit() {
            connection.execute_batch("COMMIT").expect("committed");
        }
    });
    let sums = "SELECT count(*), sum(id), sum(age + active), sum(area) FROM user";
    let sums: [i64; 4] = connection
        .query_row(sums, [], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get::<_, f64>(3)? as i64]))
        .expect("sums");
    let areas = (0..users.id.len()).map(|row| users.area(row).parse::<i64>().expect("digits"));
    let expected = [
        users.id.len() as i64,
        users.id.iter().sum(),
        users.age.iter().chain(&users.active).sum(),
        areas.sum(),
    ];
    assert_eq!(sums, expected);
    seconds
}

fn unrolled(connection: &Connection, users: &Users, degree: usize) {
    let statement = |rows: usize| format!("INSERT INTO user VALUES {}", vec!["(?,?,?,?)"; rows].join(","));
    let rows = users.id.len();
    let whole = rows / degree * degree;
    let run = |rows: usize, from: usize, to: usize| {
        let mut insert = connection.prepare(&statement(rows)).expect("a statement");
        for first in (from..to).step_by(rows) {
            for row in first..first + rows {
                let at = (row - first) * 4;
                let bind = |insert: &mut rusqlite::Statement<'_>, at: usize, value: &dyn ToSql| {
                    insert.raw_bind_parameter(at, value).expect("bound");
                };
                bind(&mut insert, at + 1, &users.id[row]);
                bind(&mut insert, at + 2, &users.area(row));
                bind(&mut insert, at + 3, &users.age[row]);
                bind(&mut insert, at + 4, &users.active[row]);
            }
            insert.raw_execute().expect("inserted");
        }
    };
    run(degree, 0, whole);
    run(1, whole, rows);
}

fn by_rows(connection: &Connection, users: &Users, batch: usize) {
    rows::register(connection).expect("registered");
    let sql = "INSERT OR FAIL INTO user SELECT c1, c2, c3, c4 FROM sqluice_rows(?1)";
    let mut statement = connection.prepare(sql).expect("a statement");
    let rows = users.id.len();
    for from in (0..rows).step_by(batch) {
        let rows = Rows::from_batch(&users.batch(from, (from + batch).min(rows))).expect("four columns");
        rows.lend(&mut statement, 1, |insert| insert.execute()).expect("bound").expect("inserted");
    }
}

fn by_source(connection: &Connection, users: &Users, change: impl FnOnce(Insert) -> Insert) {
    let schema = Schema::parse(USER.to_owned(), Path::new("user.sql")).expect("a schema");
    let how = change(Insert { coercion: Coercion::All, ..Insert::new(&schema.tables[0]) });
    let source = Box::new(Parts { users, next: 0 });
    insert(connection, &schema.tables[0], source, &how, None, &Context::default()).expect("inserted");
}

fn attached(connection: &Connection, folder: &Path) {
    // The transaction is ended first, because older versions of SQLite refuse ATTACH in a transaction.
    connection.execute_batch("ROLLBACK").expect("rolled back");
    let from = folder.join("from.db");
    connection.execute("ATTACH ?1 AS a", [from.to_str().expect("a path")]).expect("attached");
    connection.execute_batch("BEGIN; INSERT INTO main.user SELECT * FROM a.user; COMMIT").expect("copied");
}

type Way<'a> = (String, Box<dyn Fn() -> Seconds + 'a>);

/// Prints a table with the best round of each of the compared statements.
fn compare(title: &str, rows: usize, ways: &[Way<'_>]) {
    println!("{title}");
    let mut best = vec![Seconds { wall: f64::INFINITY, cpu: f64::INFINITY }; ways.len()];
    for _ in 0..ROUNDS {
        for (best, (_, way)) in best.iter_mut().zip(ways) {
            let now = way();
            *best = Seconds { wall: best.wall.min(now.wall), cpu: best.cpu.min(now.cpu) };
        }
    }
    for (Seconds { wall, cpu }, (name, _)) in best.iter().zip(ways) {
        let rate = rows as f64 / wall / 1e6;
        println!("  {name:34} {wall:7.3} s  {rate:6.2} M rows/s  {cpu:7.3} s of CPU");
    }
}

fn inserts(folder: &Path, rows: usize) {
    let users = Users::new(rows);
    let from = folder.join("from.db");
    fill(folder, USER, &users, &|connection| by_rows(connection, &users, 4096));
    std::fs::rename(folder.join("new.db"), &from).expect("renamed");
    let mut ways: Vec<Way<'_>> = Vec::new();
    let (users, way) = (&users, |run: Box<dyn Fn(&Connection) + '_>| fill(folder, USER, &users, &*run));
    ways.push(("sqluice_rows".into(), Box::new(move || way(Box::new(|c| by_rows(c, users, 4096))))));
    ways.push((
        "insert (source, 1 worker)".into(),
        Box::new(move || way(Box::new(|c| by_source(c, users, |how| how)))),
    ));
    for degree in [1, 10, 50, 100, 200] {
        let name = format!("INSERT of {degree} rows");
        ways.push((name, Box::new(move || way(Box::new(move |c| unrolled(c, users, degree))))));
    }
    ways.push(("ATTACH copy".into(), Box::new(move || way(Box::new(|c| attached(c, folder))))));
    compare("rows into a new table", rows, &ways);
}

/// Measures the cost of a statement journal, and the gain if the rows of each batch are sorted by the key of an index.
fn indexed(folder: &Path, rows: usize) {
    let users = Users::new(rows);
    let sql = format!("{USER}; CREATE INDEX user_area ON user (area)");
    let (users, sql) = (&users, &sql);
    let statement = |or: &str, order: &str, c: &Connection, batch: usize| {
        rows::register(c).expect("registered");
        let insert = format!("INSERT OR {or} INTO user SELECT c1, c2, c3, c4 FROM sqluice_rows(?1) {order}");
        let mut insert = c.prepare(&insert).expect("a statement");
        for from in (0..users.id.len()).step_by(batch) {
            let to = (from + batch).min(users.id.len());
            let rows = Rows::from_batch(&users.batch(from, to)).expect("four columns");
            rows.lend(&mut insert, 1, |insert| insert.execute()).expect("bound").expect("inserted");
        }
    };
    let mut ways: Vec<Way<'_>> = Vec::new();
    for (or, order, batch) in [
        ("FAIL", "", 4096),
        ("ABORT", "", 4096),
        ("FAIL", "ORDER BY c2", 4096),
        ("FAIL", "ORDER BY c2", 65536),
    ] {
        let run = move || fill(folder, sql, users, &|c| statement(or, order, c, batch));
        ways.push((format!("OR {or} {order} {batch}"), Box::new(run)));
    }
    for degree in [1, 50] {
        let run = move || fill(folder, sql, users, &|c| unrolled(c, users, degree));
        ways.push((format!("INSERT of {degree} rows"), Box::new(run)));
    }
    compare("rows into a table with an index on a random text", rows, &ways);
}

fn batches(folder: &Path, rows: usize) {
    let users = &Users::new(rows);
    let way = |batch: usize| -> Way<'_> {
        (format!("{batch} rows"), Box::new(move || fill(folder, USER, users, &|c| by_rows(c, users, batch))))
    };
    compare("rows of a statement", rows, &[256, 1024, 4096, 16384, 65536].map(way));
}

/// A pointer to integers, as carray takes it.
struct Carray<'i>(&'i [i64]);

impl ToSql for Carray<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Pointer((self.0.as_ptr().cast(), c"carray", None)))
    }
}

fn in_keys(folder: &Path) {
    const ROWS: usize = 1_000_000;
    const KEYS: usize = 100_000;
    let users = Users::new(ROWS);
    fill(folder, USER, &users, &|connection| by_rows(connection, &users, 4096));
    let connection = Connection::open(folder.join("new.db")).expect("exists");
    rows::register(&connection).expect("registered");
    connection.execute_batch("PRAGMA cache_size = -100000; PRAGMA temp_store = MEMORY").expect("set");
    let ids: Vec<i64> = (0..KEYS as u64).map(|key| (splitmix::nth(key) % (2 * ROWS as u64)) as i64).collect();
    let mut distinct: Vec<i64> = ids.iter().copied().filter(|id| (1..=ROWS as i64).contains(id)).collect();
    distinct.sort_unstable();
    distinct.dedup();
    let expected: (i64, i64) = (distinct.len() as i64, distinct.iter().sum());
    let check = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let select = |keys: &str| format!("SELECT count(*), sum(id) FROM user WHERE id IN ({keys})");
    let timed = |run: &dyn Fn() -> (i64, i64)| {
        let (seconds, found) = time(run);
        assert_eq!(found, expected);
        seconds
    };
    let (ids, connection) = (&ids, &connection);
    let by_rows = || {
        let mut query = connection.prepare(&select("SELECT c1 FROM sqluice_rows(?1)")).expect("a query");
        let rows = Rows::column(ids);
        let found =
            rows.lend(&mut query, 1, |query| check(query.query().next().expect("a row").expect("a row")));
        found.expect("lent").expect("found")
    };
    let by_keys = || {
        let mut query = connection.prepare(&select("SELECT c1 FROM sqluice_rows(?1)")).expect("a query");
        query.query_row([Rows::keys(ids.clone())], check).expect("found")
    };
    let by_join = || {
        let sql = "SELECT count(*), sum(id) FROM sqluice_rows(?1) CROSS JOIN user ON id = c1";
        let mut query = connection.prepare(sql).expect("a query");
        query.query_row([Rows::keys(ids.clone())], check).expect("found")
    };
    let by_carray = || {
        let mut query =
            connection.prepare(&select("SELECT value FROM carray(?1, ?2, 'int64')")).expect("a query");
        query.query_row((Carray(ids), ids.len() as i64), check).expect("found")
    };
    let by_table = || {
        connection.execute_batch("BEGIN; CREATE TEMP TABLE keys (id)").expect("a table");
        let mut insert = connection.prepare("INSERT INTO keys VALUES (?)").expect("a statement");
        ids.iter().for_each(|id| assert_eq!(insert.execute([id]).expect("inserted"), 1));
        let found = connection.query_row(&select("SELECT id FROM keys"), [], check).expect("found");
        connection.execute_batch("DROP TABLE keys; COMMIT").expect("gone");
        found
    };
    let by_values = || {
        let sql = select(&vec!["?"; 30_000].join(","));
        let mut query = connection.prepare(&sql).expect("a query");
        let mut sums = (0, 0);
        let mut sorted = ids.clone();
        sorted.sort_unstable();
        sorted.dedup();
        for keys in sorted.chunks(30_000) {
            let values = keys.iter().map(|key| Value::Integer(*key)).chain(std::iter::repeat(Value::Null));
            let (count, sum): (i64, Option<i64>) = query
                .query_row(params_from_iter(values.take(30_000)), |row| Ok((row.get(0)?, row.get(1)?)))
                .expect("found");
            sums = (sums.0 + count, sums.1 + sum.unwrap_or(0));
        }
        sums
    };
    let ways: Vec<Way<'_>> = vec![
        ("sqluice_rows".into(), Box::new(|| timed(&by_rows))),
        ("sqluice_rows, Rows::keys".into(), Box::new(|| timed(&by_keys))),
        ("... joined".into(), Box::new(|| timed(&by_join))),
        ("carray".into(), Box::new(|| timed(&by_carray))),
        ("temporary table".into(), Box::new(|| timed(&by_table))),
        ("30,000 parameters".into(), Box::new(|| timed(&by_values))),
    ];
    compare("rows found by 100,000 keys", KEYS, &ways);
}

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let name = arguments.next();
    let rows = arguments.next().and_then(|rows| rows.parse().ok()).unwrap_or(5_000_000);
    let folder = tempfile::tempdir().map_err(|error| Error::target("no folder").because(error))?;
    let asked = |of: &str| name.as_deref().is_none_or(|name| name == of);
    if asked("insert") {
        inserts(folder.path(), rows);
    }
    if asked("indexed") {
        indexed(folder.path(), rows / 5);
    }
    if asked("batch") {
        batches(folder.path(), rows);
    }
    if asked("in") {
        in_keys(folder.path());
    }
    Ok(())
}
