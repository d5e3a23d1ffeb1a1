//! The database that is there already, as far as a plan needs to know it. Nothing is changed, and no lock stays.
//!
//! SQLite opens it as it would for anybody: so a journal that a crash has left is rolled back first, and what SQLite can't read is
//! refused in its words. Whether rows can be inserted at all is SQLite's to say, too: the INSERT is compiled, and with it
//! CHECKs, triggers and the keys of all indexes, so that a function or collation that is not built in is known by its name.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode};
use sqluice_format::page::PageSize;

use super::{IfThere, WriteOptions};
use crate::error::{Error, Message, Result, Setting, message};
use crate::existing::Existing;
use crate::output;
use crate::schema::token::{self, TokenKind};
use crate::schema::{Object, Schema, Table, quoted};
use crate::sqlite::said;

/// See the module's description.
#[derive(Clone, Debug)]
pub(crate) struct There {
    /// As the user named it.
    pub(crate) name: PathBuf,
    pub(crate) schema: Schema,
    pub(crate) page_size: PageSize,
    pub(crate) pages: u32,
    pub(crate) journal_mode: String,
    pub(crate) schema_version: i64,
    /// Why pages can't be written into it.
    pub(crate) no_pages: Option<String>,
    /// Its text is UTF-8, and keeps what bytes it has.
    #[cfg_attr(not(feature = "archive"), expect(dead_code, reason = "names of files alone may be no text"))]
    pub(crate) utf8: bool,
    /// What is known of each table, in their order.
    about: Vec<About>,
}

/// A table that is there.
#[derive(Clone, Debug, Default)]
pub(crate) struct About {
    /// The largest rowid; `None`: it has none, or no name to ask for it by.
    pub(crate) largest_rowid: Option<i64>,
    /// How many rows it has at most, as far as their rowids tell.
    pub(crate) rows_max: Option<u64>,
    /// It has triggers.
    pub(crate) triggers: bool,
    /// Why SQLite can't insert into it.
    refused: Option<String>,
}

impl There {
    /// Looks at the database that rows go into; `None`: a new one is made.
    ///
    /// # Errors
    /// When what is there is no database that we can read and write.
    pub(crate) fn look(target: &Path, options: &WriteOptions) -> Result<Option<There>> {
        output::refuse_memory(target)?;
        if options.overwrite || !is_there(target)? {
            return Ok(None);
        }
        let existing = Existing::open(target, options.busy_timeout)?;
        let there = There::read(target, &existing).map_err(|error| refused(target, error))?;
        Ok(Some(There { no_pages: existing.obstacle()?, ..there }))
    }

    fn read(target: &Path, existing: &Existing) -> rusqlite::Result<There> {
        let connection = existing.connection();
        // One state of it.
        connection.execute_batch("BEGIN")?;
        let number = |pragma: &str| connection.query_row(pragma, [], |row| row.get::<_, i64>(0));
        let schema = Schema::from_catalogue(connection, String::new(), target)?;
        let about = |table| About::read(connection, &schema, table);
        let about = schema.tables.iter().map(about).collect::<rusqlite::Result<Vec<_>>>()?;
        let there = There {
            name: target.to_owned(),
            page_size: existing.geometry().page_size(),
            pages: u32::try_from(number("PRAGMA page_count")?).unwrap_or(u32::MAX),
            journal_mode: existing.journal_mode().to_owned(),
            schema_version: number("PRAGMA schema_version")?,
            no_pages: None,
            utf8: existing.encoding() == "UTF-8",
            schema,
            about,
        };
        connection.execute_batch("COMMIT")?;
        Ok(there)
    }

    /// The table of that name.
    pub(crate) fn table(&self, name: &str) -> Option<&Table> {
        self.schema.table(name)
    }

    /// What is known of a table that is there.
    pub(crate) fn about(&self, name: &str) -> Option<&About> {
        let index = self.schema.tables.iter().position(|table| table.name.eq_ignore_ascii_case(name))?;
        self.about.get(index)
    }

    /// The kind of the object that has a name, if it is one that a table can't have, too.
    pub(crate) fn kind_of(&self, name: &str) -> Option<&str> {
        let objects = self.schema.objects.iter().filter(|(kind, _)| kind != "trigger");
        let mut named = objects.filter(|(_, other)| other.eq_ignore_ascii_case(name));
        named.next().map(|(kind, _)| kind.as_str())
    }

    /// Refuses a table of that name that can't be had, or into which no rows shall or can go; `hint` says what may become of one
    /// that is there.
    pub(crate) fn refuse_name(&self, name: &str, if_there: &IfThere, hint: impl Into<Message>) -> Result<()> {
        let database = self.name.display();
        if self.table(name).is_some() {
            if *if_there != IfThere::Refuse {
                return self.refuse(name);
            }
            return Err(Error::target(format!("{database} already has a table {name}")).hint(hint));
        }
        match self.kind_of(name) {
            None => Ok(()),
            Some(kind) => {
                let kind = match kind {
                    "table" => "a virtual table",
                    "index" => "an index",
                    _ => "a view",
                };
                let message = format!("{name} is {kind} of {database}, and no table that can be loaded");
                Err(Error::target(message).hint("name another table"))
            }
        }
    }

    /// What is left to be made of `schema`: what is there already must be the same, and is left out; but tables, which are taken
    /// as they are there.
    ///
    /// # Errors
    /// When something that is there is declared otherwise, or a name is taken.
    pub(crate) fn combine(&self, schema: Schema) -> Result<Schema> {
        let mut schema = Schema { user_version: 0, application_id: 0, ..schema };
        let mut tables = Vec::new();
        for table in std::mem::take(&mut schema.tables) {
            let Some(own) = self.table(&table.name) else {
                self.refuse_taken(
                    ("table", &table.name),
                    table.indexes.iter().map(|index| &index.name),
                    &schema,
                )?;
                tables.push(table);
                continue;
            };
            if !same(&own.sql, &table.sql) {
                return Err(self.otherwise("table", &table.name, &schema));
            }
            for index in table.indexes.iter().filter(|index| index.sql.is_some()) {
                let here = own.indexes.iter().find(|own| own.name.eq_ignore_ascii_case(&index.name));
                let sql = |index: &crate::schema::index::Index| index.sql.clone().unwrap_or_default();
                if !here.is_some_and(|own| same(&sql(own), &sql(index))) {
                    return Err(self.otherwise("index", &index.name, &schema));
                }
            }
            tables.push(own.clone());
        }
        schema.tables = tables;
        for object in &schema.others {
            let mut own = self.schema.others.iter();
            let sql = |object: &Object| object.sql.clone().unwrap_or_default();
            match own.find(|own| own.name.eq_ignore_ascii_case(&object.name)) {
                Some(own) if own.kind == object.kind && same(&sql(own), &sql(object)) => {}
                Some(_) => return Err(self.otherwise(&object.kind, &object.name, &schema)),
                None => self.refuse_taken((&object.kind, &object.name), [].into_iter(), &schema)?,
            }
        }
        let is_new = |kind: &str, name: &str| {
            !self.schema.objects.iter().any(|(own, other)| own == kind && other.eq_ignore_ascii_case(name))
        };
        schema.others.retain(|object| is_new(&object.kind, &object.name));
        schema.objects.retain(|(kind, name)| is_new(kind, name));
        Ok(schema)
    }

    /// Refuses a new object, and the indexes that come with it, if something else has its name.
    fn refuse_taken<'n>(
        &self,
        (kind, name): (&str, &'n String),
        more: impl Iterator<Item = &'n String>,
        schema: &Schema,
    ) -> Result<()> {
        if kind == "trigger" {
            return Ok(());
        }
        for name in std::iter::once(name).chain(more) {
            if let Some(kind) = self.kind_of(name) {
                let message = format!("{} already has another {name}: its {kind}", self.name.display());
                return Err(Error::target(message)
                    .at(schema.place_of_table(name))
                    .hint("give the new one another name"));
            }
        }
        Ok(())
    }

    fn otherwise(&self, kind: &str, name: &str, schema: &Schema) -> Error {
        let message =
            format!("{} does not have {kind} {name} as the schema declares it", self.name.display());
        Error::input(message)
            .at(schema.place_of_table(name))
            .hint("existing objects stay as they are: leave it out of the schema, or declare it the same")
    }

    /// Refuses a table into which SQLite can't insert.
    fn refuse(&self, name: &str) -> Result<()> {
        match self.about(name).and_then(|about| about.refused.as_ref()) {
            None => Ok(()),
            Some(why) => {
                let message =
                    format!("no rows can be added to table {name} of {}: {why}", self.name.display());
                Err(Error::target(message).hint(
                    "it needs what an application brings to SQLite: load into another table, and copy there",
                ))
            }
        }
    }
}

impl About {
    fn read(connection: &Connection, schema: &Schema, table: &Table) -> rusqlite::Result<About> {
        let of_table =
            |trigger: &&Object| trigger.kind == "trigger" && trigger.table.eq_ignore_ascii_case(&table.name);
        let mut about = About {
            triggers: schema.others.iter().any(|object| of_table(&object)),
            refused: connection.prepare(&insert(table)).err().map(said),
            ..About::default()
        };
        if let Some(rowid) = rowid_in_sql(table) {
            let name = quoted(&table.name);
            let sql = format!("SELECT (SELECT min({rowid}) FROM {name}), (SELECT max({rowid}) FROM {name})");
            let ends = connection.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
            let (first, last): (Option<i64>, Option<i64>) = ends;
            about.largest_rowid = last;
            about.rows_max =
                Some(first.zip(last).map_or(0, |(first, last)| last.abs_diff(first).saturating_add(1)));
        }
        Ok(about)
    }
}

/// An INSERT into all columns that take values.
fn insert(table: &Table) -> String {
    let taking = table.columns.iter().filter(|column| column.generated.is_none());
    let columns: Vec<String> = taking.map(|column| quoted(&column.name)).collect();
    let name = quoted(&table.name);
    match columns.len() {
        0 => format!("INSERT INTO {name} DEFAULT VALUES"),
        given => {
            format!("INSERT INTO {name} ({}) VALUES ({})", columns.join(", "), vec!["?"; given].join(", "))
        }
    }
}

/// A name that means the rowid: the columns of a table may have taken them all.
fn rowid_in_sql(table: &Table) -> Option<String> {
    match table.rowid_alias {
        Some(alias) => Some(quoted(&table.columns[alias].name)),
        None => table.rowid_name().map(str::to_owned),
    }
}

/// Whether two statements differ in spaces, comments and the case of words alone.
fn same(one: &str, other: &str) -> bool {
    let words = |sql: &str| {
        let tokens = token::tokens(sql).into_iter().filter(|token| !token.is_comment());
        let words = tokens.map(|token| match token.kind {
            TokenKind::Word => token.text(sql).to_ascii_lowercase(),
            _ => token.text(sql).to_owned(),
        });
        words.collect::<Vec<String>>()
    };
    words(one) == words(other)
}

/// Whether there is a file. What is in the way of one is told when it is made.
fn is_there(target: &Path) -> Result<bool> {
    match fs::metadata(target) {
        Ok(about) if about.is_file() => Ok(true),
        Ok(about) if !about.is_dir() => {
            Err(Error::target(format!("{} is not a file", target.display())).hint("name another file"))
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(Error::target(format!("cannot look at {}", target.display())).about(target).because(error))
        }
        _ => Ok(false),
    }
}

/// The error for a database that can't be read.
fn refused(target: &Path, error: rusqlite::Error) -> Error {
    let name = target.display();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Error::target(format!("{name} is in use")).about(target).because(said(error)).hint(message![
                "wait until the other program is done, or wait longer for it: ",
                Setting::BusyTimeout.to("SECONDS")
            ])
        }
        _ => Error::target(format!("cannot read {name}")).about(target).because(said(error)),
    }
}
