//! Describes the schema to the check of the format crate: the columns of each record, their valid values, and the order of the indexes.

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use sqluice_format::check::spec::{Constant, Field, Index, Key, Source, Table, Takes, Utf16};
use sqluice_format::database::encoding_name;
use sqluice_format::key::{Collation, KeyOrder};

use sqluice_core::affinity::Affinity;
use sqluice_core::schema::index::{self, Indexed};
use sqluice_core::schema::{self, Column, Generated, Schema};

/// Describes the tables of a schema, in a database of this text encoding (1: UTF-8, 2: UTF-16le, 3: UTF-16be).
pub(crate) fn tables(schema: &Schema, encoding: u32) -> rusqlite::Result<Vec<Table>> {
    let connection = Connection::open_in_memory()?;
    // Defaults are computed in the encoding of the database: invalid text, such as CAST(x'd800' AS TEXT), depends on the encoding.
    connection.pragma_update(None, "encoding", encoding_name(encoding))?;
    let defaults = Defaults { connection, encoding };
    schema.tables.iter().map(|table| of_table(table, &defaults)).collect()
}

fn of_table(table: &schema::Table, defaults: &Defaults) -> rusqlite::Result<Table> {
    let columns = columns_of_fields(table);
    let fields = columns.iter().map(|&column| {
        let column = &table.columns[column];
        Ok(Field {
            name: column.name.clone(),
            takes: takes(column, table.strict),
            default: defaults.of(column)?,
        })
    });
    // A column that occurs twice in the PRIMARY KEY of a WITHOUT ROWID table, with two collations, has two fields of one value: the first
    // one is taken.
    let field_of = |column: usize| columns.iter().position(|&of_field| of_field == column);
    let source = |value: Indexed| match value {
        Indexed::Column(column) if table.rowid_alias == Some(column) => Source::Rowid,
        Indexed::Column(column) => field_of(column).map_or(Source::Computed, Source::Field),
        Indexed::Rowid => Source::Rowid,
        Indexed::Expression => Source::Computed,
    };
    let indexes = table.indexes.iter().map(|index| Index {
        name: index.name.clone(),
        fields: index.columns.iter().map(|column| source(column.value)).collect(),
        key: Key {
            unique_fields: index.unique.then_some(index.key_columns),
            ..key(index, index.columns.len(), defaults.encoding)
        },
        partial: index.partial,
        computed: false,
    });
    Ok(Table {
        name: table.name.clone(),
        fields: fields.collect::<rusqlite::Result<_>>()?,
        rowid_field: table.rowid_alias.and_then(field_of),
        key: table.clustered.as_ref().map(|index| key(index, index.key_columns, defaults.encoding)),
        indexes: indexes.collect(),
        computed: None,
    })
}

/// Returns the column of each field of a table's records. A column is the column of two fields, which have one value, if it occurs twice in
/// the PRIMARY KEY of a WITHOUT ROWID table, with two collations.
pub(crate) fn columns_of_fields(table: &schema::Table) -> Vec<usize> {
    match &table.clustered {
        Some(key) => key.columns.iter().filter_map(|column| as_column(column.value)).collect(),
        None => {
            let stored = |i: &usize| table.columns[*i].generated != Some(Generated::Virtual);
            (0..table.columns.len()).filter(stored).collect()
        }
    }
}

fn as_column(value: Indexed) -> Option<usize> {
    match value {
        Indexed::Column(column) => Some(column),
        Indexed::Rowid | Indexed::Expression => None,
    }
}

/// Returns the order of an index by its first `fields` columns. The order is `None` if only an application's collation can compare a column
/// of the index.
fn key(index: &index::Index, fields: usize, encoding: u32) -> Key {
    let order = index.order().map(|order| KeyOrder::new(&order.columns()[..fields]));
    let by_bytes =
        |order: &KeyOrder| order.columns().iter().all(|column| column.collation == Collation::Binary);
    let converted = Utf16::of_header(encoding).filter(|_| !order.as_ref().is_none_or(by_bytes));
    Key { order, unique_fields: None, converted }
}

/// Returns the values that a column may hold: in a STRICT table, only those of its type; in another table, those that its affinity does
/// not convert.
fn takes(column: &Column, strict: bool) -> Takes {
    let all = Takes { null: !column.not_null, ..Takes::ANYTHING };
    let nothing =
        Takes { null: all.null, int: false, real: false, text: false, numeric_text: false, blob: false };
    if strict {
        return match column.declared_type.to_ascii_uppercase().as_str() {
            "INT" | "INTEGER" => Takes { int: true, ..nothing },
            "REAL" => Takes { int: true, real: true, ..nothing },
            "TEXT" => Takes { text: true, numeric_text: true, ..nothing },
            "BLOB" => Takes { blob: true, ..nothing },
            _ => all,
        };
    }
    match column.affinity {
        Affinity::Blob => all,
        Affinity::Text => Takes { int: false, real: false, ..all },
        Affinity::Numeric | Affinity::Integer | Affinity::Real => Takes { numeric_text: false, ..all },
    }
}

/// A connection on which SQLite computes DEFAULT values. Records that are older than an ALTER TABLE ADD COLUMN lack the column, and mean
/// its DEFAULT.
struct Defaults {
    connection: Connection,
    encoding: u32,
}

impl Defaults {
    fn of(&self, column: &Column) -> rusqlite::Result<Constant> {
        let Some(default) = &column.default else { return Ok(Constant::Null) };
        let affinity = match column.affinity {
            Affinity::Blob => "BLOB",
            Affinity::Text => "TEXT",
            Affinity::Numeric => "NUMERIC",
            Affinity::Integer => "INTEGER",
            Affinity::Real => "REAL",
        };
        // The value is read from a row that is older than the column: TEXT DEFAULT 1e300 is '1e300' there, and '1.0e+300' in a new row.
        // `pragma_table_xinfo` gives an expression without its parentheses, so they are added if SQLite does not take the text as it is.
        // They are not added first, because DEFAULT "x" is the text x, and ("x") is a column.
        let create = |default: &str| {
            let before = "DROP TABLE IF EXISTS d; CREATE TABLE d (x); INSERT INTO d VALUES (1)";
            let sql = format!("{before}; ALTER TABLE d ADD COLUMN c {affinity} DEFAULT {default}");
            self.connection.execute_batch(&sql)
        };
        // Skip a DEFAULT that SQLite computes for each new row, such as a time: ADD COLUMN refuses it, so no record lacks such a column.
        if create(default).or_else(|_| create(&format!("({default})"))).is_err() {
            return Ok(Constant::Null);
        }
        self.connection.query_row("SELECT c, CAST(c AS BLOB) FROM d", [], |row| {
            Ok(match row.get_ref(0)? {
                ValueRef::Null => Constant::Null,
                ValueRef::Integer(int) => Constant::Int(int),
                ValueRef::Real(real) => Constant::Real(real),
                // The bytes of the text in the encoding of the database.
                ValueRef::Text(_) => Constant::Text(row.get(1)?),
                ValueRef::Blob(blob) => Constant::Blob(blob.to_vec()),
            })
        })
    }
}
