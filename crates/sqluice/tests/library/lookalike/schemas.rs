//! Random databases: tables of all kinds that refer to each other, with rows of many shapes.

use std::fmt::Write as _;

use rusqlite::Connection;
use rusqlite::types::Value;

use crate::support::Random;

/// The kind of values of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    Category,
    Number,
    Skewed,
    Stepped,
    Price,
    Real,
    Day,
    Second,
    Code,
    Codes,
    Words,
    Mail,
    Blob,
    Flag,
    Mixed,
}

const SHAPES: [Shape; 15] = [
    Shape::Category,
    Shape::Number,
    Shape::Skewed,
    Shape::Stepped,
    Shape::Price,
    Shape::Real,
    Shape::Day,
    Shape::Second,
    Shape::Code,
    Shape::Codes,
    Shape::Words,
    Shape::Mail,
    Shape::Blob,
    Shape::Flag,
    Shape::Mixed,
];

/// A random table that has been created.
struct Made {
    name: String,
    rows: u64,
    /// The type of the table's key; `None` if other tables can't refer to the key.
    key: Option<&'static str>,
}

fn letters(random: &mut Random, count: usize, first: u8) -> String {
    (0..count).map(|_| (first + random.below(26) as u8) as char).collect()
}

/// Returns a value of a shape. `row` is the row's number.
pub(crate) fn value(shape: Shape, random: &mut Random, row: u64) -> Value {
    let day = |random: &mut Random| {
        format!("20{:02}-{:02}-{:02}", random.below(20), 1 + random.below(12), 1 + random.below(28))
    };
    match shape {
        Shape::Category => {
            Value::Text(["red", "green", "blue", "it's grey"][random.below(16).min(3)].to_owned())
        }
        Shape::Number => Value::Integer(random.below(5000) as i64 - 700),
        Shape::Skewed => {
            let one = random.below(100) as i64;
            Value::Integer(one * one * one / 50)
        }
        Shape::Stepped => Value::Integer(random.below(60) as i64 * 25 + 5),
        Shape::Price => Value::Real(random.below(20_000) as f64 / 100.0),
        Shape::Real => Value::Real(random.below(1 << 30) as f64 / 7.0),
        Shape::Day => Value::Text(day(random)),
        Shape::Second => Value::Text(format!(
            "{} {:02}:{:02}:{:02}",
            day(random),
            random.below(24),
            random.below(60),
            random.below(60)
        )),
        Shape::Code => Value::Text(format!("{}-{:05}", letters(random, 2, b'A'), random.below(100_000))),
        Shape::Codes => match random.below(3) {
            0 => Value::Text(format!("{}{}", letters(random, 3, b'A'), random.below(10))),
            _ => Value::Text(format!("{} {:03}", letters(random, 4, b'a'), random.below(1000))),
        },
        Shape::Words => {
            let words: Vec<String> =
                (0..2 + random.below(9)).map(|_| letters_of_some_length(random)).collect();
            Value::Text(words.join(" "))
        }
        Shape::Mail => {
            Value::Text(format!("{}{row}@{}.org", letters(random, 5, b'a'), letters(random, 6, b'a')))
        }
        Shape::Blob => Value::Blob((0..8 + random.below(40)).map(|_| random.below(256) as u8).collect()),
        Shape::Flag => Value::Integer(i64::from(random.below(5) == 0)),
        Shape::Mixed => match random.below(3) {
            0 => Value::Integer(random.below(900) as i64),
            1 => Value::Text(letters(random, 6, b'a')),
            _ => Value::Real(random.below(4000) as f64 / 8.0),
        },
    }
}

fn letters_of_some_length(random: &mut Random) -> String {
    let length = 3 + random.below(6);
    letters(random, length, b'a')
}

fn declared(shape: Shape, is_strict: bool) -> &'static str {
    match shape {
        Shape::Category
        | Shape::Day
        | Shape::Second
        | Shape::Code
        | Shape::Codes
        | Shape::Words
        | Shape::Mail => "TEXT",
        Shape::Number | Shape::Skewed | Shape::Stepped | Shape::Flag => "INTEGER",
        Shape::Price | Shape::Real => "REAL",
        Shape::Blob => "BLOB",
        Shape::Mixed => {
            if is_strict {
                "ANY"
            } else {
                ""
            }
        }
    }
}

/// Makes a random database. If `planted` returns a value for a column of a row, that value is inserted in place of a random one.
pub(crate) fn make(
    connection: &Connection,
    random: &mut Random,
    mut planted: impl FnMut(&mut Random, Shape) -> Option<Value>,
) {
    connection.execute_batch("PRAGMA foreign_keys = 0; BEGIN").unwrap();
    let mut tables: Vec<Made> = Vec::new();
    for number in 0..1 + random.below(4) {
        let table = make_table(connection, random, number, &tables, &mut planted);
        tables.push(table);
    }
    connection.execute_batch("COMMIT").unwrap();
}

/// Returns the key of a row.
fn key(kind: &str, row: u64, step: u64) -> Value {
    match kind {
        "TEXT" => Value::Text(format!("K{:06}", row * 37 % 1_000_000)),
        _ => Value::Integer((row * step + 1) as i64),
    }
}

fn make_table(
    connection: &Connection,
    random: &mut Random,
    number: usize,
    before: &[Made],
    planted: &mut impl FnMut(&mut Random, Shape) -> Option<Value>,
) -> Made {
    let name = format!("t{number}");
    let rows = 150 + random.below(500) as u64;
    let is_strict = random.below(4) == 0;
    let kind = ["INTEGER", "INTEGER", "TEXT", "pair"][random.below(4)];
    let parent = if before.is_empty() { None } else { Some(&before[random.below(before.len())]) }
        .filter(|parent| parent.key.is_some());
    let is_pair = kind == "pair" && parent.is_some();
    let step = [1, 1, 10, 3][random.below(4)];
    let mut sql = format!("CREATE TABLE {name} (");
    let mut shapes = Vec::new();
    if !is_pair {
        let _ = write!(sql, "id {} PRIMARY KEY NOT NULL, ", if kind == "TEXT" { "TEXT" } else { "INTEGER" });
    }
    if let Some(parent) = parent {
        let _ = write!(sql, "parent {} REFERENCES {} (id), ", parent.key.unwrap_or(""), parent.name);
        if is_pair {
            sql += "line INTEGER NOT NULL, ";
        }
    }
    for column in 0..1 + random.below(6) {
        let shape = SHAPES[random.below(SHAPES.len())];
        let nullable = random.below(3) == 0;
        let check = match shape {
            Shape::Category if random.below(2) == 0 => {
                format!(" CHECK (c{column} IN ('red', 'green', 'blue', 'it''s grey'))")
            }
            Shape::Price if random.below(2) == 0 => format!(" CHECK (c{column} >= 0)"),
            _ => String::new(),
        };
        let _ = write!(
            sql,
            "c{column} {}{}{check}, ",
            declared(shape, is_strict),
            if nullable { "" } else { " NOT NULL" }
        );
        shapes.push((shape, nullable));
    }
    sql += if is_pair { "PRIMARY KEY (parent, line))" } else { "UNIQUE (id))" };
    let options: Vec<&str> = [(is_strict, "STRICT"), (is_pair, "WITHOUT ROWID")]
        .into_iter()
        .filter(|option| option.0)
        .map(|option| option.1)
        .collect();
    connection
        .execute_batch(&format!("{sql} {}", options.join(", ")))
        .unwrap_or_else(|error| panic!("{error}\n{sql}"));
    let skew = random.below(3);
    let mut lines: Vec<u64> = vec![0; parent.map_or(0, |parent| parent.rows as usize)];
    let values = shapes.len() + usize::from(!is_pair) + parent.map_or(0, |_| 1 + usize::from(is_pair));
    let places = (1..=values).map(|at| format!("?{at}")).collect::<Vec<_>>().join(", ");
    let mut insert = connection.prepare(&format!("INSERT INTO {name} VALUES ({places})")).unwrap();
    for row in 0..rows {
        let mut values = Vec::new();
        if !is_pair {
            values.push(key(if kind == "TEXT" { "TEXT" } else { "INTEGER" }, row, step));
        }
        if let Some(parent) = parent {
            let of = random.below(parent.rows as usize);
            let of =
                if skew == 0 { of } else { of * random.below(parent.rows as usize) / parent.rows as usize };
            let is_null = !is_pair && random.below(10) == 0;
            // The keys of a parent are read back, since their steps are random.
            let found: Value = connection
                .query_row(&format!("SELECT id FROM {} LIMIT 1 OFFSET {of}", parent.name), [], |row| {
                    row.get(0)
                })
                .unwrap();
            values.push(if is_null { Value::Null } else { found });
            if is_pair {
                lines[of] += 1;
                values.push(Value::Integer(lines[of] as i64));
            }
        }
        for (shape, nullable) in &shapes {
            let made =
                if *nullable && random.below(4) == 0 { Value::Null } else { value(*shape, random, row) };
            values.push(planted(random, *shape).unwrap_or(made));
        }
        insert.execute(rusqlite::params_from_iter(values)).unwrap_or_else(|error| panic!("{error}\n{sql}"));
    }
    Made {
        name,
        rows,
        key: if is_pair { None } else { Some(if kind == "TEXT" { "TEXT" } else { "INTEGER" }) },
    }
}
