//! Recognises dumps, and the database system that a dump was written for.
//!
//! ```text
//!  -- MySQL dump 10.13 ...            the first comment of a program that writes dumps
//!  PRAGMA foreign_keys=OFF;           the first statements that the shell of SQLite writes
//!  CREATE TABLE t (                   statements that can only be SQL
//!  INSERT INTO t VALUES (
//! ```

use super::insert::{Begins, begins};
use super::lex::{Dialect, Look, look};

/// Comments, in lower case, with which dumps begin.
const SIGNATURES: [(&str, Dialect); 7] = [
    ("mysql dump", Dialect::MySql),
    ("mariadb dump", Dialect::MySql),
    ("phpmyadmin sql dump", Dialect::MySql),
    ("enable the sandbox mode", Dialect::MySql),
    ("postgresql database dump", Dialect::Postgres),
    ("postgresql database cluster dump", Dialect::Postgres),
    ("sqlite dump", Dialect::Sqlite),
];

/// Returns `true` if more text may decide, because there are only white space and comments so far.
pub fn is_undecided(head: &[u8]) -> bool {
    let comment = head.trim_ascii_start();
    let may_be =
        [&b"--"[..], b"/*", b"#"].iter().any(|mark| comment.starts_with(mark) || mark.starts_with(comment));
    may_be && first_statement(head).is_none() && signature(head).is_none()
}

/// Returns `true` if a text begins like a dump.
pub fn begins_dump(head: &[u8]) -> bool {
    if signature(head).is_some() {
        return true;
    }
    let Some(at) = first_statement(head) else { return false };
    let statement = &head[at..];
    let upper: Vec<u8> = statement[..statement.len().min(200)].to_ascii_uppercase();
    let words: Vec<&[u8]> =
        upper.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty()).collect();
    let statement_ends = upper.contains(&b';');
    match words[..] {
        [b"PRAGMA", ..] => statement_ends && upper.contains(&b'='),
        [b"BEGIN;", ..] | [b"BEGIN", b"TRANSACTION;", ..] | [b"BEGIN", b"IMMEDIATE;" | b"EXCLUSIVE;", ..] => {
            true
        }
        [b"CREATE", b"TABLE" | b"TEMP" | b"TEMPORARY", _, ..] => upper.contains(&b'('),
        [b"CREATE", b"DATABASE" | b"SCHEMA" | b"VIRTUAL" | b"SEQUENCE" | b"EXTENSION", _, ..] => true,
        [b"DROP", b"TABLE" | b"DATABASE" | b"SCHEMA" | b"VIEW" | b"INDEX" | b"TRIGGER", ..]
        | [b"START", b"TRANSACTION;", ..]
        | [b"ALTER", b"TABLE", ..]
        | [b"DELETE", b"FROM", ..]
        | [b"LOCK", b"TABLES", ..]
        | [b"SET", b"NAMES", ..] => statement_ends,
        [b"USE", name, ..] if name.ends_with(b";") => true,
        [b"SET", ..] => statement_ends && upper.contains(&b'='),
        [b"INSERT", b"INTO", _, ..] => {
            let rules = Dialect::Sqlite.rules();
            matches!(begins(head, at, rules, true), Begins::Rows(..))
        }
        _ => false,
    }
}

/// Code in lower case that only MySQL or only PostgreSQL uses, outside of strings and comments. SQLite refuses this code or, in types,
/// ignores it.
const WORDS: [(&str, Dialect); 40] = [
    ("/*!40", Dialect::MySql),
    ("engine=", Dialect::MySql),
    ("engine =", Dialect::MySql),
    (" auto_increment", Dialect::MySql),
    ("lock tables", Dialect::MySql),
    ("unlock tables", Dialect::MySql),
    ("\nuse ", Dialect::MySql),
    ("enum(", Dialect::MySql),
    ("set names", Dialect::MySql),
    ("\ndelimiter ", Dialect::MySql),
    ("on update current_timestamp", Dialect::MySql),
    ("character set", Dialect::MySql),
    ("database `", Dialect::MySql),
    ("schema `", Dialect::MySql),
    ("database if exists `", Dialect::MySql),
    ("schema if exists `", Dialect::MySql),
    ("pg_catalog", Dialect::Postgres),
    ("set statement_timeout", Dialect::Postgres),
    ("set client_encoding", Dialect::Postgres),
    ("set search_path", Dialect::Postgres),
    ("from stdin", Dialect::Postgres),
    ("alter table only", Dialect::Postgres),
    ("::", Dialect::Postgres),
    ("\n\\c ", Dialect::Postgres),
    ("\n\\connect ", Dialect::Postgres),
    ("as identity", Dialect::Postgres),
    (" serial primary", Dialect::Postgres),
    (" serial not null", Dialect::Postgres),
    (" bigserial", Dialect::Postgres),
    (" bytea", Dialect::Postgres),
    (" timestamptz", Dialect::Postgres),
    ("with time zone", Dialect::Postgres),
    ("without time zone", Dialect::Postgres),
    ("nextval(", Dialect::Postgres),
    ("create sequence", Dialect::Postgres),
    ("create extension", Dialect::Postgres),
    ("create type", Dialect::Postgres),
    ("create domain", Dialect::Postgres),
    ("create schema", Dialect::Postgres),
    ("owner to", Dialect::Postgres),
];

/// Returns the dialect of a dump that begins with `head`.
pub fn dialect(head: &[u8]) -> Dialect {
    if let Some(dialect) = signature(head) {
        return dialect;
    }
    if head.get(..7).is_some_and(|start| start.eq_ignore_ascii_case(b"PRAGMA ")) {
        return Dialect::Sqlite;
    }
    let code = code(head);
    let found = |dialect: Dialect| {
        let words = WORDS.iter().filter(|(_, of)| *of == dialect);
        words.filter(|(word, _)| memchr::memmem::find(&code, word.as_bytes()).is_some()).count()
    };
    match (found(Dialect::MySql), found(Dialect::Postgres)) {
        (0, 0) => Dialect::Sqlite,
        (mysql, postgres) if postgres > mysql => Dialect::Postgres,
        _ => Dialect::MySql,
    }
}

/// Returns the name of an unsupported database system if the first bytes of a script belong to it.
pub fn other_database(head: &[u8]) -> Option<&'static str> {
    const OTHERS: [(&str, &str); 6] = [
        ("\ngo\n", "SQL Server"),
        ("\ngo\r\n", "SQL Server"),
        ("[dbo].", "SQL Server"),
        (" varchar2(", "Oracle"),
        (" nvarchar2(", "Oracle"),
        ("\nset define off", "Oracle"),
    ];
    let code = code(head);
    let found = OTHERS.iter().find(|(word, _)| memchr::memmem::find(&code, word.as_bytes()).is_some());
    found.filter(|_| signature(head).is_none()).map(|(_, name)| *name)
}

/// Returns text in lower case without strings and comments. A LF is added at its start, so that every line begins after a LF.
fn code(head: &[u8]) -> Vec<u8> {
    let rules = Dialect::MySql.rules();
    let mut code = b"\n".to_vec();
    let mut at = 0;
    while let Some(&byte) = head.get(at) {
        let end = match byte {
            b'\'' | b'"' | b'/' | b'-' | b'#' => look(head, at, rules, true),
            _ => Look::Code,
        };
        match end {
            Look::Comment(to) => {
                // MySQL executes the text of this comment, so its beginning, such as `/*!40`, is code.
                if head[at..to].starts_with(b"/*!") {
                    code.extend_from_slice(&head[at..to]);
                }
                at = to;
            }
            Look::Quoted(to) => at = to,
            Look::Code | Look::More => {
                code.push(byte.to_ascii_lowercase());
                at += 1;
            }
        }
    }
    code
}

/// Returns `true` if a text begins with the comment of a program that writes dumps, or with the first statements of SQLite's shell.
pub fn is_signed(head: &[u8]) -> bool {
    signature(head).is_some() || head.starts_with(b"PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;")
}

/// Returns `true` if the program that wrote a dump has a closing comment, and the dump lacks it. `tail` has the last bytes of the dump.
pub fn is_cut_off(head: &[u8], tail: &[u8]) -> bool {
    const ENDS: [&str; 3] = ["-- dump completed", "database dump complete", "database cluster dump complete"];
    let lower = [head, tail].map(<[u8]>::to_ascii_lowercase);
    let has = |text: &[u8], words: &str| memchr::memmem::find(text, words.as_bytes()).is_some();
    let first_line = lower[0].get(..BEGINNING_BYTES).unwrap_or(&lower[0]);
    let says_so = [
        "-- mysql dump",
        "-- mariadb dump",
        "-- postgresql database dump",
        "-- postgresql database cluster dump",
    ];
    says_so.iter().any(|words| has(first_line, words)) && !ENDS.iter().any(|words| has(&lower[1], words))
}

/// The number of bytes at the start of a dump in which its program is named.
const BEGINNING_BYTES: usize = 200;

/// Returns the dialect that the comments before the first statement name, if any.
fn signature(head: &[u8]) -> Option<Dialect> {
    let end = first_statement(head).unwrap_or(head.len());
    let comments = head[..end].to_ascii_lowercase();
    let found =
        SIGNATURES.iter().find(|(words, _)| memchr::memmem::find(&comments, words.as_bytes()).is_some());
    found.map(|(_, dialect)| *dialect)
}

/// Returns the position of the first byte that is neither white space nor a comment.
fn first_statement(head: &[u8]) -> Option<usize> {
    let rules = Dialect::MySql.rules();
    let mut at = if head.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    while let Some(&byte) = head.get(at) {
        if byte.is_ascii_whitespace() {
            at += 1;
            continue;
        }
        // A line that begins with dashes is a comment in every dialect.
        let at_line = |at: usize| memchr::memchr(b'\n', &head[at..]).map_or(head.len(), |end| at + end);
        match byte {
            b'-' if head.get(at + 1) == Some(&b'-') => at = at_line(at),
            // A line that begins with # is a comment in MySQL.
            b'#' => at = at_line(at),
            b'/' => match look(head, at, rules, false) {
                Look::Comment(to) => at = to,
                _ => return None,
            },
            _ => return Some(at),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dialect_of_a_script_follows_from_words_that_one_server_has() {
        for script in [
            "DROP DATABASE IF EXISTS `Chinook`;",
            "CREATE TABLE t (\n  id INT NOT NULL AUTO_INCREMENT\n);",
            "create table t (e enum('a','b'));",
            "CREATE DATABASE shop;\nUSE shop;\nCREATE TABLE t (a int);",
            "/* a; b */\nCREATE TABLE t (a int) ENGINE=InnoDB;",
        ] {
            assert_eq!(dialect(script.as_bytes()), Dialect::MySql, "{script}");
        }
        for script in [
            "CREATE DATABASE chinook_auto_increment;\n\\c chinook;\nCREATE TABLE t (a int);",
            "CREATE TABLE t (id SERIAL PRIMARY KEY);",
            "CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY);",
            "CREATE TABLE t (d date DEFAULT ('now'::text)::date);",
            "CREATE EXTENSION pgcrypto;",
        ] {
            assert_eq!(dialect(script.as_bytes()), Dialect::Postgres, "{script}");
        }
    }

    #[test]
    fn a_script_is_told_from_a_csv_file_by_its_first_statement() {
        for script in [
            "SET NAMES utf8mb4;\nSET @OLD=1;",
            "SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0;",
            "# Sequel Pro SQL dump\n#\n\n/*!40101 SET x=1 */;\nLOCK TABLES `a` WRITE;",
            "-- a comment\nDROP SCHEMA IF EXISTS sakila;\nCREATE SCHEMA sakila;\nUSE sakila;",
            "USE sakila;\nINSERT INTO a VALUES (1);",
            "ALTER TABLE store DROP CONSTRAINT x;",
            "DELETE FROM t;\nINSERT INTO t VALUES(1);",
        ] {
            assert!(begins_dump(script.as_bytes()), "{script}");
        }
        for text in [
            "set names,a\n1,2\n",
            "set;b=1\n1;2\n",
            "use,b\n1,2;\n",
            "# a comment\na,b\n1,2\n",
            "alter table\nx\n",
            "#",
            "delete from inbox\n1\n",
            "drop view\n",
        ] {
            assert!(!begins_dump(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn scripts_of_unsupported_databases_are_recognised() {
        let server =
            "CREATE DATABASE [Chinook];\nGO\nUSE [Chinook];\nGO\nCREATE TABLE [dbo].[Album] (a INT);\nGO\n";
        assert_eq!(other_database(server.as_bytes()), Some("SQL Server"));
        assert_eq!(other_database(b"CREATE TABLE t (a VARCHAR2(20));\n"), Some("Oracle"));
        assert_eq!(
            other_database(b"CREATE TABLE t (a TEXT);\nINSERT INTO t VALUES('\nGO\n varchar2(');\n"),
            None
        );
    }

    #[test]
    fn words_in_strings_comments_and_names_do_not_decide_the_dialect_of_a_script() {
        for script in [
            "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE t(serial, \"engine=\");",
            "CREATE TABLE t(a);\nINSERT INTO t VALUES('engine=v8 auto_increment ::');",
            "CREATE TABLE t(a); -- engine=InnoDB, id serial\n/* lock tables */",
            "CREATE TABLE t(id INTEGER, serial TEXT); INSERT INTO t(id, serial) VALUES(1, 'a')",
            "CREATE TABLE t(a TEXT DEFAULT (strftime('%Y::', 'now')));",
        ] {
            assert_eq!(dialect(script.as_bytes()), Dialect::Sqlite, "{script}");
        }
    }
}
