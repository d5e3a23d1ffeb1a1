//! Look-alikes of random databases with self references, composite keys, partial and expression indexes, two parents, and CHECKs over
//! several columns.

use std::fmt::Write as _;

use rusqlite::Connection;
use sqluice::generate::Generate;
use sqluice::options::WriteOptions;
use sqluice::progress::Context;
use sqluice::report::Report;
use sqluice_testkit::effort::tries;

use super::compare::{number, profile};
use crate::support::Random;
use crate::support::files::{Home, integrity, open};

/// A random table, with the columns of its keys.
struct Made {
    name: String,
    /// The columns of keys that are no references to another table.
    keys: Vec<String>,
    /// The column that refers to the table itself, if any.
    up: Option<String>,
    /// The column that a row and its parent have in common, if any.
    group: Option<String>,
    /// The columns with few values.
    few: Vec<String>,
}

/// Returns a number below `end`; small numbers are more likely.
fn skewed(random: &mut Random, end: usize) -> usize {
    random.below(end).min(random.below(end))
}

/// Inserts rows of random values until the table has `rows` rows. Rows that break a constraint are left out.
fn fill(connection: &Connection, table: &str, rows: usize, mut row: impl FnMut(usize) -> String) {
    let mut found = 0;
    for attempt in 0..40 * rows {
        let sql = format!("INSERT OR IGNORE INTO {table} VALUES ({})", row(found));
        let inserted = connection.execute(&sql, []);
        found += inserted.unwrap_or_else(|error| {
            assert!(error.to_string().contains("constraint"), "{error}: {sql}");
            0
        });
        if found == rows {
            break;
        }
        assert!(attempt + 1 < 40 * rows || found > rows / 3, "{table} has only {found} rows");
    }
}

/// Creates a table that refers to itself: employees, categories, messages, or a chain.
fn tree(connection: &Connection, random: &mut Random, name: &str) -> Made {
    let rows = 1000 + random.below(600);
    let (kind, roots, fan) = (random.below(4), 1 + random.below(40), 2 + random.below(6));
    let is_own = random.below(3) == 0;
    let key = ["INTEGER", "TEXT"][random.below(2)];
    let null = if is_own { " NOT NULL" } else { "" };
    let more = ["", ", UNIQUE (up, position)"][usize::from(kind == 1)];
    connection
        .execute_batch(&format!(
            "CREATE TABLE {name} (id {key} PRIMARY KEY NOT NULL, up {key}{null} REFERENCES {name} (id), position INTEGER, state TEXT{more})"
        ))
        .unwrap();
    let shown = |row: usize| if key == "TEXT" { format!("'N{row:05}'") } else { (row + 1).to_string() };
    let mut below = vec![0; rows];
    fill(connection, name, rows, |row| {
        let parent = match kind {
            _ if row < roots => None,
            0 => Some(random.below(row)),
            1 => Some((row - roots) / fan),
            2 => Some(skewed(random, row)),
            // The rows form chains, one for each root.
            _ => Some(row - roots),
        };
        let position = parent.map_or(row + 1, |parent| {
            below[parent] += 1;
            below[parent]
        });
        let up = match parent {
            Some(parent) => shown(parent),
            None if is_own => shown(row),
            None => "NULL".to_owned(),
        };
        format!("{}, {up}, {position}, '{}'", shown(row), ["open", "done", "late"][skewed(random, 3)])
    });
    Made {
        name: name.to_owned(),
        keys: Vec::new(),
        up: Some("up".to_owned()),
        group: None,
        few: vec!["state".to_owned()],
    }
}

/// Creates the staff of several companies: a row refers to a row of the same company.
fn staff(connection: &Connection, random: &mut Random, name: &str) -> Made {
    let (companies, rows) = (2 + random.below(12), 1000 + random.below(600));
    let (fan, first) = (1 + random.below(6), random.below(2));
    connection
        .execute_batch(&format!(
            "CREATE TABLE {name} (company INTEGER NOT NULL, number INTEGER NOT NULL, boss INTEGER, state TEXT,
             PRIMARY KEY (company, number), FOREIGN KEY (company, boss) REFERENCES {name} (company, number))"
        ))
        .unwrap();
    let mut sizes = vec![0_usize; companies];
    fill(connection, name, rows, |row| {
        let company = if row < companies { row } else { random.below(companies) };
        let number = sizes[company];
        sizes[company] += 1;
        let boss = match number {
            0 => "NULL".to_owned(),
            _ => (first + number.saturating_sub(1 + random.below(fan)) / fan).to_string(),
        };
        format!("{company}, {}, {boss}, '{}'", first + number, ["open", "done", "late"][skewed(random, 3)])
    });
    Made {
        name: name.to_owned(),
        keys: vec!["company".to_owned()],
        up: Some("boss".to_owned()),
        group: Some("company".to_owned()),
        few: vec!["state".to_owned()],
    }
}

/// Creates a table with a key of several columns of few values.
fn composite(connection: &Connection, random: &mut Random, name: &str) -> Made {
    let (kinds, regions, days) = (2 + random.below(5), 4 + random.below(30), 10 + random.below(60));
    let is_clustered = random.below(2) == 0;
    let key = ["PRIMARY KEY (kind, region, day)", "UNIQUE (region, day, kind)"][random.below(2)];
    let is_primary = key.starts_with("PRIMARY");
    let end = if is_clustered && is_primary { " WITHOUT ROWID" } else { "" };
    connection
        .execute_batch(&format!(
            "CREATE TABLE {name} (kind TEXT NOT NULL, region TEXT NOT NULL, day INTEGER NOT NULL, amount REAL, {key}){end}"
        ))
        .unwrap();
    let all = kinds * regions * days;
    let rows = (1000 + random.below(800)).min(all * (40 + random.below(55)) / 100).max(all.min(60));
    let is_skewed = random.below(2) == 0 && rows * 4 < all;
    fill(connection, name, rows, |_| {
        let kind = if is_skewed { skewed(random, kinds) } else { random.below(kinds) };
        let (region, day) = (random.below(regions), random.below(days));
        format!("'kind {kind}', 'R{region:03}', {}, {}.5", day + 20_240_000, random.below(900))
    });
    let columns = ["kind", "region", "day"].map(str::to_owned).to_vec();
    Made { name: name.to_owned(), keys: columns.clone(), up: None, group: None, few: columns }
}

/// Creates a table with one or two parents, a partial unique index, a unique expression, and CHECKs over several columns.
fn constrained(connection: &Connection, random: &mut Random, name: &str) -> Made {
    let (parents, rows) = (300 + random.below(400), 1000 + random.below(500));
    connection
        .execute_batch(&format!(
            "CREATE TABLE {name}_a (id INTEGER PRIMARY KEY, x TEXT);
             CREATE TABLE {name}_b (id INTEGER PRIMARY KEY, y TEXT);"
        ))
        .unwrap();
    fill(connection, &format!("{name}_a"), parents, |row| format!("{}, 'x{row}'", row + 1));
    fill(connection, &format!("{name}_b"), parents / 2, |row| format!("{}, 'y{row}'", 2 * row + 1));
    let two_parents = random.below(2) == 0;
    let more = if two_parents { format!(" REFERENCES {name}_b (id)") } else { String::new() };
    let mut sql = format!(
        "CREATE TABLE {name} (id INTEGER PRIMARY KEY, a INTEGER NOT NULL REFERENCES {name}_a (id){more}, \
         slot INTEGER NOT NULL, state TEXT NOT NULL, mail TEXT, low INTEGER, high INTEGER, \
         CHECK (low <= high), CHECK (state <> 'open' OR high < 900)"
    );
    sql += [", UNIQUE (a, slot)", ""][random.below(2)];
    let _ = write!(sql, "); CREATE UNIQUE INDEX {name}_i ON {name} (a) WHERE state = 'open'");
    let _ = write!(sql, "; CREATE UNIQUE INDEX {name}_j ON {name} (lower(mail), slot)");
    connection.execute_batch(&sql).unwrap();
    let slots = 5 + random.below(20);
    fill(connection, name, rows, |row| {
        let a = if two_parents { 2 * random.below(parents / 2) } else { random.below(parents) } + 1;
        let state = ["done", "open", "late"][skewed(random, 3)];
        let mail = format!("{}x{}", ["A", "b", "Cc"][random.below(3)], random.below(400));
        let low = random.below(800);
        let high = low + random.below(300);
        format!("{}, {a}, {}, '{state}', '{mail}', {low}, {high}", row + 1, random.below(slots))
    });
    let few = ["slot", "state"].map(str::to_owned).to_vec();
    Made { name: name.to_owned(), keys: vec!["slot".to_owned()], up: None, group: None, few }
}

/// Makes the look-alike of a database. Returns the report of the run, and the text of the profile.
fn like(home: &Home) -> (Report, String) {
    let profile = profile(&home.path("original.db"));
    let schema = profile.schema().unwrap_or_else(|error| panic!("{error}\n{}", profile.text));
    let write = WriteOptions::new().threads(2).memory_bytes(32 << 20);
    let prepared =
        Generate::new(home.path("like.db"), schema).seed(7).write(write).prepare(&Context::default());
    let prepared =
        prepared.unwrap_or_else(|error| panic!("{error}, {:?}\n{}", error.hint_text(), profile.text));
    let plan: Vec<String> = prepared.plan().notes.iter().map(ToString::to_string).collect();
    let report = prepared.run(&Context::default());
    let report = report.unwrap_or_else(|error| panic!("{error}, {:?}\n{}", error.hint_text(), profile.text));
    for dropped in &report.dropped {
        assert!(plan.iter().any(|note| note.contains(&dropped.constraint)), "{dropped:?}: {plan:?}");
    }
    (report, profile.text)
}

/// Returns the condition under which a row is a root.
fn root(made: &Made) -> String {
    let up = made.up.as_deref().unwrap_or_default();
    if made.group.is_some() { format!("{up} IS NULL") } else { format!("{up} IS NULL OR {up} = id") }
}

/// Returns the greatest depth of a tree, and the number of rows that the roots reach.
fn depth(connection: &Connection, made: &Made) -> (f64, f64) {
    let (table, up) = (&made.name, made.up.as_deref().unwrap_or_default());
    let (id, same) = match &made.group {
        Some(group) => ("number", format!(" AND t.{group} = b.{group}")),
        None => ("id", String::new()),
    };
    let group = made.group.as_deref().unwrap_or("''");
    let (of_group, root) = (made.group.as_ref().map_or("''".to_owned(), |of| format!("t.{of}")), root(made));
    let sql = |what: &str| {
        format!(
            "WITH RECURSIVE below (id, {}, depth) AS (SELECT {id}, {group}, 0 FROM {table} WHERE {root} \
             UNION ALL SELECT t.{id}, {of_group}, depth + 1 FROM {table} t JOIN below b ON t.{up} = b.id{same} AND t.{up} <> t.{id} WHERE depth < 5000) \
             SELECT {what} FROM below",
            made.group.as_deref().unwrap_or("none")
        )
    };
    (number(connection, &sql("max(depth)")), number(connection, &sql("count(*)")))
}

/// Returns the shares of the 20 commonest values, in descending order.
fn shares(connection: &Connection, table: &str, column: &str) -> Vec<f64> {
    let rows = number(connection, &format!("SELECT count(*) FROM {table}"));
    let sql = format!("SELECT count(*) FROM {table} GROUP BY {column} ORDER BY 1 DESC LIMIT 20");
    let mut statement = connection.prepare(&sql).unwrap();
    let counts = statement.query_map([], |row| row.get::<_, f64>(0)).unwrap();
    counts.map(|count| count.unwrap() / rows).collect()
}

/// Returns the differences between a table and its look-alike.
fn differences(connections: &[Connection; 2], made: &Made) -> Vec<String> {
    let mut found = Vec::new();
    let table = &made.name;
    let mut same = |what: &str, [one, other]: [f64; 2], share: f64| {
        if (one - other).abs() > share * one.abs() {
            found.push(format!("{table}: {what} is {one} in the original, {other} in the look-alike"));
        }
    };
    let both = |sql: &str| [0, 1].map(|at| number(&connections[at], sql));
    same("count", both(&format!("SELECT count(*) FROM {table}")), 0.0);
    if made.up.is_some() {
        let roots = format!("SELECT count(*) FROM {table} WHERE {}", root(made));
        same("number of roots", both(&roots), 0.05);
        let [one, other] = [0, 1].map(|at| depth(&connections[at], made));
        same("greatest depth", [one.0, other.0], 0.2);
        same("number of rows below roots", [one.1, other.1], 0.0);
    }
    // Most values of a small table are in fewer than 20 rows, and so are not in the profile. The columns of a small table are not compared.
    if number(&connections[0], &format!("SELECT count(*) FROM {table}")) < 1000.0 {
        return found;
    }
    for column in &made.keys {
        same(
            &format!("different {column}"),
            both(&format!("SELECT count(DISTINCT {column}) FROM {table}")),
            0.1,
        );
    }
    for column in made.few.iter().chain(&made.up) {
        let [one, other] = [0, 1].map(|at| shares(&connections[at], table, column));
        for rank in 0..20 {
            let [one, other] = [&one, &other].map(|shares| shares.get(rank).copied().unwrap_or(0.0));
            if (one - other).abs() > 0.02 {
                found.push(format!("{table}.{column}: value {rank} has {one} of the rows, and {other}"));
            }
        }
    }
    found
}

#[test]
fn databases_generated_from_profiles_keep_constraints_of_all_kinds() {
    let mut all = Vec::new();
    for seed in 0..tries(6, 40, 300) {
        let home = Home::new();
        let connection = Connection::open(home.path("original.db")).unwrap();
        connection.execute_batch("PRAGMA synchronous = 0; BEGIN").unwrap();
        let random = &mut Random(seed + 1000);
        let mut tables = Vec::new();
        for number in 0..2 {
            let make = [tree, composite, constrained, staff][random.below(4)];
            tables.push(make(&connection, random, &format!("t{number}")));
        }
        connection.execute_batch("COMMIT").unwrap();
        drop(connection);
        let (report, text) = like(&home);
        let connections = [open(&home.path("original.db")), open(&home.path("like.db"))];
        assert_eq!(integrity(&connections[1]), "ok", "{text}");
        assert_eq!(number(&connections[1], "SELECT count(*) FROM pragma_foreign_key_check"), 0.0, "{text}");
        let found: Vec<String> = tables.iter().flat_map(|made| differences(&connections, made)).collect();
        let dropped = report.dropped.iter().map(|dropped| format!("{dropped:?}"));
        all.extend(found.into_iter().chain(dropped).map(|difference| format!("seed {seed}: {difference}")));
    }
    assert!(all.is_empty(), "{} differences: {:#?}", all.len(), &all[..all.len().min(60)]);
}
