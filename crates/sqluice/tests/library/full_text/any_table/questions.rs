//! Random questions about a full-text table `f`, which two databases must answer alike.

use rusqlite::Connection;
use rusqlite::types::Value;

use super::super::support::{Answer, ask};
use super::table::{Rows, Table, quoted};
use crate::support::Random;

/// A query with the text that it looks for.
pub(super) type Question = (String, String);

/// Words and phrases that occur in a table, and some that do not.
struct Known {
    words: Vec<String>,
    phrases: Vec<Vec<String>>,
}

impl Known {
    fn of(connection: &Connection, rows: &Rows, random: &mut Random) -> Known {
        let terms = "SELECT DISTINCT term FROM temp.v_row";
        let terms = ask(connection, terms, &[]).unwrap_or_default();
        let text = |value: &Value| match value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        };
        let mut words: Vec<String> = terms.iter().filter_map(|row| text(&row[0])).collect();
        words.extend(["every", "run", "Été", "nothing_has_this", "5.0", "an"].map(str::to_owned));
        let rows: Vec<_> = rows.values().collect();
        let mut phrases = Vec::new();
        for _ in 0..if rows.is_empty() { 0 } else { 20 } {
            let row = rows[random.below(rows.len())];
            let Some(text) = text(&row[random.below(row.len())]) else { continue };
            let some: Vec<&str> = text.split([' ', '\0', '\n']).take(2000).collect();
            let from = random.below(some.len());
            let to = (from + 1 + random.below(4)).min(some.len());
            phrases.push(some[from..to].iter().map(|word| (*word).to_owned()).collect());
            // Terms of the tokenizer trigram are parts of words.
            let chars: Vec<char> = text.chars().take(2000).collect();
            if chars.len() > 8 {
                let from = random.below(chars.len() - 8);
                phrases.push(vec![chars[from..from + 3 + random.below(5)].iter().collect()]);
            }
        }
        Known { words, phrases }
    }

    fn word(&self, random: &mut Random) -> String {
        let word = &self.words[random.below(self.words.len())];
        match random.below(5) {
            0 => word.chars().take(1 + random.below(3)).collect(),
            _ => word.clone(),
        }
    }

    fn phrase(&self, random: &mut Random) -> String {
        match random.below(8) {
            0..3 => quoted(&self.word(random)),
            3 => format!("{} *", quoted(&self.word(random))),
            4 => format!("{} + {}", quoted(&self.word(random)), quoted(&self.word(random))),
            5 => format!("^ {}", quoted(&self.word(random))),
            _ if self.phrases.is_empty() => quoted("every run"),
            _ => {
                let words = &self.phrases[random.below(self.phrases.len())];
                let star = if random.one_in(5) { " *" } else { "" };
                format!("{}{star}", quoted(&words.join(" ")))
            }
        }
    }

    fn expression(&self, columns: &[String], depth: usize, random: &mut Random) -> String {
        let deeper = |random: &mut Random| self.expression(columns, depth + 1, random);
        match random.below(if depth > 2 { 5 } else { 11 }) {
            0..4 => self.phrase(random),
            4 => {
                let phrases: Vec<String> = (0..2 + random.below(2)).map(|_| self.phrase(random)).collect();
                format!("NEAR({}, {})", phrases.join(" "), random.below(12))
            }
            5 => format!("{} AND {}", deeper(random), deeper(random)),
            6 => format!("{} OR {}", deeper(random), deeper(random)),
            7 => format!("({}) NOT ({})", deeper(random), deeper(random)),
            8 => format!("{} {}", self.phrase(random), self.phrase(random)),
            9 => format!("{} : ({})", columns[random.below(columns.len())], deeper(random)),
            _ => {
                let some: Vec<&str> =
                    columns.iter().filter(|_| random.one_in(2)).map(|name| &**name).collect();
                let not = if random.one_in(2) { "- " } else { "" };
                format!("{not}{{{} {}}} : ({})", columns[0], some.join(" "), deeper(random))
            }
        }
    }
}

/// Returns random questions. `connection` has the tables that [`vocabulary`] makes.
pub(super) fn questions(
    (connection, rows): (&Connection, &Rows),
    table: &Table,
    count: usize,
    random: &mut Random,
) -> Vec<Question> {
    let known = Known::of(connection, rows, random);
    let columns: Vec<String> = table.columns.iter().map(|column| quoted(column.name)).collect();
    let question = |random: &mut Random| {
        let matched = known.expression(&columns, 0, random);
        let column = random.below(columns.len());
        let some = random.below(columns.len() + 1) as i64 - 1;
        let sql = match random.below(8) {
            0 => "SELECT rowid FROM f WHERE f MATCH ?1 ORDER BY rowid DESC".to_owned(),
            1 => "SELECT rowid, rank FROM f WHERE f MATCH ?1 AND rank MATCH 'bm25(5.0, 0.5)' ORDER BY rank, rowid".to_owned(),
            2 => format!("SELECT rowid, rank FROM f WHERE {} MATCH ?1 ORDER BY rank, rowid", columns[column]),
            3 => {
                let rowids: Vec<&i64> = rows.keys().collect();
                let rowid = rowids.get(random.below(rows.len().max(1))).copied().unwrap_or(&0);
                format!("SELECT rowid, * FROM f WHERE f MATCH ?1 AND rowid >= {rowid} ORDER BY rowid LIMIT 20")
            }
            4 => {
                let like = known.phrase(random).replace('"', "");
                let (operator, any) = if random.one_in(2) { ("LIKE", '%') } else { ("GLOB", '*') };
                let sql = format!("SELECT rowid FROM f WHERE {} {operator} ?1", columns[column]);
                return (sql, format!("{any}{like}{any}"));
            }
            5 => "SELECT count(*), sum(rowid % 1000) FROM f WHERE f MATCH ?1".to_owned(),
            _ => format!(
                "SELECT rowid, rank, bm25(f, 2.0, 1.0), highlight(f, {column}, '<', '>'), snippet(f, {some}, '<', '>', '...', {})
                 FROM f WHERE f MATCH ?1 ORDER BY rowid LIMIT 30",
                1 + random.below(64),
            ),
        };
        (sql, matched)
    };
    (0..count).map(|_| question(random)).collect()
}

/// The kinds of tables of `fts5vocab`, which list the words of a full-text table.
const VOCABULARY: [&str; 3] = ["row", "col", "instance"];

/// Returns the statements that make the tables of words.
pub(super) fn vocabulary() -> String {
    let table = |kind: &str| {
        format!("CREATE VIRTUAL TABLE IF NOT EXISTS temp.v_{kind} USING fts5vocab(main, f, {kind});\n")
    };
    VOCABULARY.map(table).concat()
}

/// Asserts that SQLite finds both databases sound, and that they have the same words.
pub(super) fn same_words(ours: &Connection, twin: &Connection, what: &str) {
    let [ours_checked, twin_checked] = [ours, twin].map(|connection| {
        connection.execute_batch(&vocabulary()).unwrap();
        let checked = connection.execute_batch("INSERT INTO f(f, rank) VALUES ('integrity-check', 1)");
        (checked.map_err(|error| error.to_string()), sqluice_testkit::sqlite::integrity(connection))
    });
    assert_eq!(twin_checked, (Ok(()), "ok".to_owned()), "{what}: the twin");
    assert_eq!(ours_checked, (Ok(()), "ok".to_owned()), "{what}: ours");
    for kind in VOCABULARY {
        let sql = format!("SELECT * FROM temp.v_{kind}");
        let (ours, twin) = (ask(ours, &sql, &[]).unwrap(), ask(twin, &sql, &[]).unwrap());
        let different = ours.iter().zip(&twin).find(|(ours, twin)| ours != twin);
        assert!(ours == twin, "{what}: {kind}: {} and {} rows, {different:?}", ours.len(), twin.len());
    }
}

/// Returns an answer without the numbers in SQLite's message: some queries with `tokendata` fail, and name a row of the index.
fn without_numbers(answer: Answer) -> Answer {
    answer.map_err(|message| message.replace(|char: char| char.is_ascii_digit(), ""))
}

/// Asserts that both databases give the same answers.
pub(super) fn same_answers(ours: &Connection, twin: &Connection, questions: &[Question], what: &str) {
    for (sql, matched) in questions {
        let [ours, twin]: [Answer; 2] =
            [ours, twin].map(|connection| without_numbers(ask(connection, sql, &[matched])));
        assert_eq!(ours, twin, "{what}: {sql} {matched:?}");
    }
}
