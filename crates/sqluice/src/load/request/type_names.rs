//! The meanings of the type names that users give. SQLite takes any name. If SQLite does not know the name, as with `STRING` or `DATE`, it
//! converts each text in the column that looks like a number to a number.

use sqluice_core::affinity::Affinity;
use sqluice_core::schema::token::{self, Token, TokenKind};
use sqluice_core::similar::nearest;

/// The type in SQLite that is meant by the name of a type in another system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Integer,
    Real,
    /// An integer or a real number.
    Numeric,
    Text,
    Blob,
    /// Any value, without conversion.
    Any,
}

/// The valid types, for messages.
pub(crate) const VALID: &str = "INTEGER, REAL, NUMERIC, TEXT, BLOB, ANY, or what other systems call them, such as VARCHAR(20), STRING, DATE, \
                                TIMESTAMP, BOOLEAN, BIGINT, INT64, DOUBLE, FLOAT64, DECIMAL(10,2), UUID, JSON, BYTES";

/// The known type names, in lower case, with their meanings.
const NAMES: [(Meaning, &[&str]); 6] = [
    (
        Meaning::Integer,
        &[
            "integer",
            "int",
            "tinyint",
            "smallint",
            "mediumint",
            "bigint",
            "hugeint",
            "long",
            "short",
            "byte",
            "int1",
            "int2",
            "int3",
            "int4",
            "int8",
            "int16",
            "int32",
            "int64",
            "uint",
            "uint8",
            "uint16",
            "uint32",
            "uint64",
            "utinyint",
            "usmallint",
            "uinteger",
            "ubigint",
            "unsigned",
            "unsigned int",
            "unsigned integer",
            "unsigned big int",
            "int unsigned",
            "integer unsigned",
            "bigint unsigned",
            "i8",
            "i16",
            "i32",
            "i64",
            "u8",
            "u16",
            "u32",
            "u64",
            "serial",
            "smallserial",
            "bigserial",
            "bool",
            "boolean",
            "logical",
            "bit",
            "year",
        ],
    ),
    (
        Meaning::Real,
        &[
            "real",
            "double",
            "double precision",
            "float",
            "float4",
            "float8",
            "float16",
            "float32",
            "float64",
            "f32",
            "f64",
            "half",
            "single",
            "binary_float",
            "binary_double",
        ],
    ),
    (
        Meaning::Numeric,
        &[
            "numeric",
            "decimal",
            "dec",
            "number",
            "money",
            "smallmoney",
            "decimal128",
            "decimal256",
            "bignumeric",
        ],
    ),
    (
        Meaning::Text,
        &[
            "text",
            "string",
            "str",
            "utf8",
            "large_string",
            "large_utf8",
            "varchar",
            "varchar2",
            "nvarchar",
            "nvarchar2",
            "char",
            "nchar",
            "bpchar",
            "character",
            "character varying",
            "varying character",
            "native character",
            "national character",
            "clob",
            "nclob",
            "tinytext",
            "mediumtext",
            "longtext",
            "ntext",
            "citext",
            "date",
            "date32",
            "date64",
            "datetime",
            "datetime2",
            "datetime64",
            "smalldatetime",
            "datetimeoffset",
            "timestamp",
            "timestamptz",
            "timestampz",
            "timestamp_ntz",
            "timestamp_ltz",
            "timestamp_tz",
            "timestamp with time zone",
            "timestamp without time zone",
            "time",
            "time32",
            "time64",
            "timetz",
            "time with time zone",
            "time without time zone",
            "interval",
            "uuid",
            "guid",
            "uniqueidentifier",
            "json",
            "jsonb",
            "xml",
            "enum",
            "category",
            "categorical",
            "factor",
            "object",
            "inet",
            "cidr",
            "macaddr",
        ],
    ),
    (
        Meaning::Blob,
        &[
            "blob",
            "tinyblob",
            "mediumblob",
            "longblob",
            "binary",
            "varbinary",
            "large_binary",
            "bytes",
            "bytea",
            "bytearray",
            "image",
            "raw",
        ],
    ),
    (Meaning::Any, &["any", "variant", "sql_variant"]),
];

impl Meaning {
    fn of(name: &str) -> Option<Meaning> {
        NAMES.iter().find(|(_, names)| names.contains(&name)).map(|(meaning, _)| *meaning)
    }

    /// Returns SQLite's name of the type.
    const fn name(self, strict: bool) -> &'static str {
        match self {
            Meaning::Integer => "INTEGER",
            Meaning::Real => "REAL",
            Meaning::Numeric if strict => "REAL",
            Meaning::Numeric => "NUMERIC",
            Meaning::Text => "TEXT",
            Meaning::Any if strict => "ANY",
            Meaning::Blob | Meaning::Any => "BLOB",
        }
    }
}

/// Returns `true` if a user who declares this type means numbers.
pub(crate) fn means_number(declared: &str) -> bool {
    let tokens: Vec<Token> =
        token::tokens(declared).into_iter().filter(|token| !token.is_comment()).collect();
    let meaning = Meaning::of(&Type::read(declared, &tokens).words);
    matches!(meaning, Some(Meaning::Integer | Meaning::Real | Meaning::Numeric))
}

/// The type that a user gives for a column, compared with the meaning that its name has in SQLite.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum GivenType {
    /// No type, or a type name by which SQLite means the same as the user.
    Same,
    /// A type name by which SQLite would mean another type than the user.
    Meant {
        /// The name that the user gives.
        name: String,
        /// SQLite's name of the type that the user means.
        is: &'static str,
        /// The declaration with SQLite's name in place of the user's.
        declared: String,
    },
    /// A name that is not in `NAMES`, with the most similar name of `NAMES`, if any.
    Unknown { name: String, near: Option<&'static str> },
}

/// Returns the meaning of `declared`, a type and any constraints, in a table that is STRICT or not.
pub(crate) fn meaning(declared: &str, strict: bool) -> GivenType {
    let tokens: Vec<Token> =
        token::tokens(declared).into_iter().filter(|token| !token.is_comment()).collect();
    let Type { words, end } = Type::read(declared, &tokens);
    if end == 0 {
        return GivenType::Same;
    }
    let (begins, ends) = (tokens[0].at.start, tokens[end - 1].at.end);
    let name = &declared[begins..ends];
    let Some(meaning) = Meaning::of(&words) else {
        let names = NAMES.iter().flat_map(|(_, names)| names.iter().copied());
        return GivenType::Unknown { name: name.to_owned(), near: nearest(&words, names) };
    };
    let is = meaning.name(strict);
    let same = match strict {
        true => name.eq_ignore_ascii_case(is),
        false => {
            Affinity::of_declared_type(name) == Affinity::of_declared_type(is) && meaning != Meaning::Any
        }
    };
    match same {
        true => GivenType::Same,
        false => GivenType::Meant {
            name: name.to_owned(),
            is,
            declared: format!("{}{is}{}", &declared[..begins], &declared[ends..]),
        },
    }
}

/// The name of a type at the start of a declaration.
struct Type {
    /// The words of the name, in lower case, without anything in parentheses.
    words: String,
    /// The index of the token after the name.
    end: usize,
}

impl Type {
    fn read(declared: &str, tokens: &[Token]) -> Type {
        const CONSTRAINTS: [&str; 11] = [
            "CONSTRAINT",
            "PRIMARY",
            "NOT",
            "NULL",
            "UNIQUE",
            "CHECK",
            "DEFAULT",
            "COLLATE",
            "REFERENCES",
            "GENERATED",
            "AS",
        ];
        let (mut words, mut end) = (Vec::new(), 0);
        while let Some(token) = tokens.get(end) {
            if token.is_symbol(declared, "(") && !words.is_empty() {
                let closes = tokens[end..].iter().position(|token| token.is_symbol(declared, ")"));
                end = closes.map_or(tokens.len(), |closes| end + closes + 1);
                continue;
            }
            let is_constraint = CONSTRAINTS.iter().any(|word| token.is_word(declared, word));
            match token.name(declared) {
                Some(name) if !is_constraint && token.kind != TokenKind::String => {
                    words.push(name.to_lowercase())
                }
                _ => break,
            }
            end += 1;
        }
        Type { words: words.join(" "), end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(given: &str, strict: bool) -> String {
        match meaning(given, strict) {
            GivenType::Same => given.to_owned(),
            GivenType::Meant { declared, .. } => declared,
            GivenType::Unknown { name, near } => format!("unknown: {name}, near {near:?}"),
        }
    }

    #[test]
    fn a_type_name_that_sqlite_would_misread_is_replaced_by_the_type_that_is_meant() {
        for (given, expected) in [
            ("STRING", "TEXT"),
            ("str", "TEXT"),
            ("DATE", "TEXT"),
            ("datetime NOT NULL", "TEXT NOT NULL"),
            ("timestamp(6) with time zone", "TEXT"),
            ("interval", "TEXT"),
            ("bool DEFAULT 0", "INTEGER DEFAULT 0"),
            ("f64", "REAL"),
            ("bytes", "BLOB"),
            ("json", "TEXT"),
            ("any", "BLOB"),
            ("\"string\" COLLATE NOCASE", "TEXT COLLATE NOCASE"),
        ] {
            assert_eq!(declared(given, false), expected, "{given}");
        }
    }

    #[test]
    fn a_type_name_that_sqlite_reads_as_meant_stays_unchanged() {
        for given in [
            "INTEGER",
            "int64",
            "BIGINT",
            "VARCHAR(20) NOT NULL",
            "double precision",
            "DECIMAL(10, 2)",
            "numeric",
            "REAL",
            "BLOB",
            "TEXT COLLATE NOCASE",
            "NOT NULL",
            "float64",
            "",
        ] {
            assert_eq!(declared(given, false), given);
        }
    }

    #[test]
    fn type_names_are_replaced_by_those_that_a_strict_table_may_have() {
        for (given, expected) in [
            ("VARCHAR(20)", "TEXT"),
            ("bigint", "INTEGER"),
            ("DECIMAL(10,2)", "REAL"),
            ("any", "any"),
            ("INTEGER", "INTEGER"),
        ] {
            assert_eq!(declared(given, true), expected);
        }
    }

    #[test]
    fn an_unknown_type_name_is_reported_with_the_most_similar_known_name() {
        assert_eq!(declared("VARCHR", false), "unknown: VARCHR, near Some(\"varchar\")");
        assert_eq!(declared("itneger NOT NULL", false), "unknown: itneger, near Some(\"integer\")");
        assert_eq!(declared("geometry", false), "unknown: geometry, near None");
    }

    #[test]
    fn type_names_for_text_and_blobs_never_become_numeric_types() {
        for (meaning, names) in NAMES {
            for name in
                names.iter().filter(|_| matches!(meaning, Meaning::Text | Meaning::Blob | Meaning::Any))
            {
                let affinity = Affinity::of_declared_type(&declared(name, false));
                assert!(matches!(affinity, Affinity::Text | Affinity::Blob), "{name}");
            }
        }
    }
}
