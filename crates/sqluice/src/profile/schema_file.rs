//! Builds the text of a profile: a head that lists the shown values, and the statements of the schema. The text is tested before it is
//! returned: columns that the generator does not accept, or whose values break a CHECK, lose their comments.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use rusqlite::Connection;
use sqluice_core::error::Result;
use sqluice_core::progress::Cancel;
use sqluice_core::schema::token::tokens;
use sqluice_core::schema::{Column, Schema, Table};
use sqluice_core::sqlite_error::{failed, needs_application, said};
use sqluice_generator::{Spec, settle};
use sqluice_reader::{Snapshot, StoredObject};

use super::describe::Made;
use super::options::{KeptValues, PersonalColumn};
use super::statements::{plain, table};
use crate::full_text;
use crate::personal::{Personal, Why};
use crate::schema_text::{self, LiteralKind, Names, stripped_body};

/// The maximum number of attempts to remove comments before the text is returned.
const TRIES: usize = 100;

/// The maximum number of objects for which SQLite parses the text again. SQLite walks the whole schema for each added statement.
const PARSED_OBJECTS_MAX: usize = 2000;

/// The rules for literals in statements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Texts<'n> {
    pub(super) names: &'n Names,
    /// `true` if literals are removed.
    pub(super) strips: bool,
}

impl Texts<'_> {
    /// Returns the texts and blobs in a statement, in single quotes.
    pub(super) fn literals(self, sql: &str) -> Vec<String> {
        let shown = |literal: &schema_text::Literal| literal.kind != LiteralKind::Number;
        schema_text::literals(sql, self.names)
            .into_iter()
            .filter(shown)
            .map(|literal| literal.spelled)
            .collect()
    }

    /// Returns the number of literals in a statement, also of long numbers.
    fn count(self, sql: &str) -> usize {
        schema_text::literals(sql, self.names).len()
    }

    /// Removes the literals of an object. Returns `false` if the object is to be left out: an index with literals that is not unique.
    fn strip(self, object: &mut StoredObject, schema: &Schema) -> bool {
        let Some(sql) = &object.sql else { return true };
        let declared = schema.table(&object.table);
        match (&*object.kind, declared) {
            ("table", Some(declared)) => object.sql = Some(declared.sql.clone()),
            ("index", Some(declared)) => {
                let index =
                    declared.indexes.iter().find(|index| index.name.eq_ignore_ascii_case(&object.name));
                let is_unique = index.is_none_or(|index| index.unique);
                return is_unique || self.count(sql) == 0;
            }
            ("view" | "trigger", _) => object.sql = Some(stripped_body(sql, self.names)),
            _ => {}
        }
        true
    }
}

/// A schema file under construction.
pub(super) struct SchemaFile<'s> {
    schema: &'s Schema,
    pub(super) texts: Texts<'s>,
    objects: Vec<StoredObject>,
    header: (i32, i32),
    /// The row count and the expressions of the columns of each table, by its name.
    tables: HashMap<String, (u64, Vec<Option<String>>)>,
    pub(super) kept: Vec<KeptValues>,
    pub(super) personal: Vec<PersonalColumn>,
    notes: Vec<String>,
    /// The names, in lower case, of the tables that are left out, because they need a collation, function or tokenizer of an application.
    left_out: HashSet<String>,
}

impl<'s> SchemaFile<'s> {
    /// Creates a schema file with the objects for which `has` returns `true`, and the objects that belong to them.
    pub(super) fn new(
        snapshot: &Snapshot,
        schema: &'s Schema,
        (has, texts): (impl Fn(&str) -> bool, Texts<'s>),
        cancel: &Cancel,
    ) -> Result<SchemaFile<'s>> {
        let shadows: HashSet<String> = snapshot.shadow_tables()?;
        let is_shown = |object: &StoredObject| {
            let of_sqlite = object.name.starts_with("sqlite_");
            object.sql.is_some()
                && !of_sqlite
                && !shadows.contains(&object.name.to_ascii_lowercase())
                && has(&object.table)
        };
        let objects = snapshot.objects(cancel)?.into_iter().filter(|object| is_shown(object)).collect();
        let header = (schema.user_version, schema.application_id);
        let mut file = SchemaFile {
            schema,
            texts,
            objects,
            header,
            tables: HashMap::new(),
            kept: Vec::new(),
            personal: Vec::new(),
            notes: Vec::new(),
            left_out: HashSet::new(),
        };
        if texts.strips {
            file.strip();
        }
        file.leave_out_unknown()?;
        for (name, why) in full_text::without_text(schema) {
            if file.objects.iter().any(|object| object.name == name) {
                file.notes.push(format!("full-text table {name} gets no rows in a look-alike: {why}"));
            }
        }
        Ok(file)
    }

    /// Returns `true` if a table is in the file.
    pub(super) fn has(&self, table: &str) -> bool {
        !self.left_out.contains(&table.to_ascii_lowercase())
    }

    /// Removes the literals of all objects. Leaves indexes out, with a note, that have literals and are not unique.
    fn strip(&mut self) {
        let mut kept = Vec::new();
        let count = |object: &StoredObject| object.sql.as_deref().map_or(0, |sql| self.texts.count(sql));
        let mut notes = Vec::new();
        for mut object in std::mem::take(&mut self.objects) {
            let before = count(&object);
            if !self.texts.strip(&mut object, self.schema) {
                notes.push(format!("{} is left out, as it has literals", object.describe()));
                continue;
            }
            let removed = before - count(&object).min(before);
            if removed > 0 {
                let s = if removed == 1 { "" } else { "s" };
                notes.push(format!("{} loses {removed} literal{s}", object.describe()));
            }
            kept.push(object);
        }
        self.notes.extend(notes);
        self.objects = kept;
    }

    /// Leaves out, with a note, objects that need a collation, function or tokenizer of an application.
    fn leave_out_unknown(&mut self) -> Result<()> {
        let failed = |error| failed(error, "make an empty database");
        let connection = Connection::open_in_memory().map_err(failed)?;
        connection.execute_batch("PRAGMA foreign_keys = OFF").map_err(failed)?;
        // SQLite walks the whole schema for each added object, so only the objects of one table exist at a time.
        let mut by_table: HashMap<String, Vec<usize>> = HashMap::new();
        for (number, object) in self.objects.iter().enumerate() {
            by_table.entry(object.table.to_ascii_lowercase()).or_default().push(number);
        }
        let mut of_tables: Vec<Vec<usize>> = by_table.into_values().collect();
        of_tables.sort_unstable();
        let mut unknown: BTreeMap<usize, String> = BTreeMap::new();
        for of_table in of_tables {
            connection.execute_batch("BEGIN").map_err(failed)?;
            for number in of_table {
                let sql = self.objects[number].sql.as_deref().unwrap_or_default();
                let made = connection.execute_batch(sql).map_err(said);
                unknown.extend(made.err().filter(|why| needs_application(why)).map(|why| (number, why)));
            }
            connection.execute_batch("ROLLBACK").map_err(failed)?;
        }
        let mut kept = Vec::new();
        for (number, object) in std::mem::take(&mut self.objects).into_iter().enumerate() {
            match unknown.remove(&number) {
                Some(why) => {
                    if object.kind == "table" {
                        self.left_out.insert(object.name.to_ascii_lowercase());
                    }
                    self.notes.push(format!("{} is left out: {why}", object.describe()));
                }
                None => kept.push(object),
            }
        }
        // The indexes and triggers of a table are left out with the table.
        kept.retain(|object: &StoredObject| !self.left_out.contains(&object.table.to_ascii_lowercase()));
        self.objects = kept;
        Ok(())
    }

    /// Sets the row count and the expressions of a table's columns.
    pub(super) fn set(&mut self, table: &str, rows: u64, expressions: Vec<Option<String>>) {
        self.tables.insert(table.to_owned(), (rows, expressions));
    }

    /// Records how many values of a column are shown, or that its values look personal.
    pub(super) fn note(
        &mut self,
        table: &str,
        column: &str,
        made: Option<&Made>,
        personal: Option<Personal>,
    ) {
        let (table, column) = (table.to_owned(), column.to_owned());
        if let Some(personal) = personal {
            let by = if personal.why == Why::Name { "name" } else { "values" };
            self.personal.push(PersonalColumn { table, column, what: personal.what, by });
        } else if let Some(made) = made.filter(|made| !made.kept.is_empty()) {
            self.kept.push(KeptValues { table, column, values: made.kept.len() });
        }
    }

    /// Returns the number of columns of a table with a comment.
    pub(super) fn described(&self, table: &str) -> usize {
        self.tables.get(table).map_or(0, |(_, expressions)| expressions.iter().flatten().count())
    }

    /// Returns the texts and blobs in the statements, each once.
    pub(super) fn literals(&self) -> Vec<String> {
        let all: BTreeSet<String> = self
            .objects
            .iter()
            .filter_map(|object| object.sql.as_deref())
            .flat_map(|sql| self.texts.literals(sql))
            .collect();
        all.into_iter().collect()
    }

    /// Returns the statements.
    fn body(&self) -> String {
        let statement = |object: &StoredObject| {
            let sql = object.sql.as_deref().unwrap_or_default();
            let declared = self.schema.table(&object.name).filter(|_| object.kind == "table");
            match (declared, self.tables.get(&object.name)) {
                (Some(declared), Some((rows, expressions))) => table(declared, *rows, expressions),
                _ => plain(sql),
            }
        };
        let mut lines: Vec<String> = Vec::new();
        let pragmas = [("user_version", self.header.0), ("application_id", self.header.1)];
        lines.extend(
            pragmas
                .iter()
                .filter(|(_, value)| *value != 0)
                .map(|(name, value)| format!("PRAGMA {name} = {value};")),
        );
        lines.extend(self.objects.iter().map(statement));
        lines.join("\n") + "\n"
    }

    /// Returns the list of shown values, as comments.
    fn head(&self, common: Option<u64>) -> String {
        let mut lines = vec![
            "A profile of a database without its rows: from the comments of this schema, the generator makes similar rows."
                .to_owned(),
        ];
        match (common, self.kept.is_empty()) {
            (None, _) => lines.push("It shows no values of the database.".to_owned()),
            (Some(_), true) => lines.push(
                "It shows no values of the database: no column has few different values that are common and do not look personal.".to_owned(),
            ),
            (Some(common), false) => {
                lines.push(format!(
                    "It shows these values of the database, each of them in at least {common} rows:"
                ));
                let kept = |kept: &KeptValues| {
                    format!("  {}.{}: {}", kept.table, kept.column, counted(kept.values, "value"))
                };
                lines.extend(self.kept.iter().map(kept));
            }
        }
        if !self.personal.is_empty() {
            lines.push("It shows no values of these columns, which look personal:".to_owned());
            let personal =
                |it: &PersonalColumn| format!("  {}.{}: {}, by its {}", it.table, it.column, it.what, it.by);
            lines.extend(self.personal.iter().map(personal));
        }
        let literals = self.literals();
        if !literals.is_empty() {
            lines.push("The schema itself has these values:".to_owned());
            lines.extend(literals.iter().map(|literal| format!("  {}", literal.replace(['\n', '\r'], " "))));
        }
        lines.extend(self.notes.iter().map(|note| format!("Note: {note}")));
        lines.push(settle::MAY_BE_DROPPED.to_owned());
        lines.iter().map(|line| format!("-- {line}\n")).collect::<String>() + "\n"
    }

    /// Returns the text, and notes about parts that could not be described.
    pub(super) fn finish(&mut self, common: Option<u64>) -> Result<(String, Vec<String>)> {
        let place = |name: &str| self.schema.place(name);
        self.kept.sort_by_cached_key(|kept| place(&kept.table));
        self.personal.sort_by_cached_key(|personal| place(&personal.table));
        let names: HashSet<String> = self.objects.iter().map(|object| object.name.clone()).collect();
        for _ in 0..TRIES {
            let body = self.body();
            let file = Path::new("profile");
            let schema = match self.objects.len() > PARSED_OBJECTS_MAX {
                true => self.schema.in_text(body, file, |name| names.contains(name)),
                false => {
                    let mut schema = Schema::parse(body, file)?;
                    full_text::add_tables(&mut schema, |name| self.tables.contains_key(name));
                    schema
                }
            };
            match Spec::new(&schema) {
                Err(error) => {
                    let place = error.place().and_then(|place| place.line);
                    if !place.is_some_and(|line| self.forget_line(line as usize, &error.message())) {
                        return Err(error);
                    }
                }
                Ok(spec) if !self.forget_checked(&spec) => break,
                Ok(_) => {}
            }
        }
        Ok((self.head(common) + &self.body(), self.notes.clone()))
    }

    /// Removes the comment of a line. Returns `true` if the line had a comment.
    fn forget_line(&mut self, line: usize, why: &str) -> bool {
        let body = self.body();
        let Some((_, expression)) = body.lines().nth(line - 1).and_then(|line| line.split_once("  -- gen: "))
        else {
            return false;
        };
        let expression = expression.to_owned();
        for (table, (_, expressions)) in &mut self.tables {
            if let Some(slot) = expressions.iter_mut().find(|slot| slot.as_ref() == Some(&expression)) {
                *slot = None;
                self.notes
                    .push(format!("a column of {table} is generated from its declaration alone: {why}"));
                return true;
            }
        }
        false
    }

    /// Removes the comments of columns whose values would break a CHECK. Returns `true` if any comment was removed.
    fn forget_checked(&mut self, spec: &Spec) -> bool {
        let mut found = false;
        let broken = spec.notes.iter().filter_map(|note| {
            let (table, check) = note.strip_prefix("rows of ")?.split_once(" break CHECK (")?;
            Some((self.schema.table(table)?, check))
        });
        for (table, check) in broken {
            found |= self.forget_named(table, check);
        }
        found
    }

    fn forget_named(&mut self, table: &Table, check: &str) -> bool {
        let named: Vec<String> = tokens(check).iter().filter_map(|token| token.name(check)).collect();
        let columns = |column: &&Column| named.iter().any(|name| name.eq_ignore_ascii_case(&column.name));
        if table.columns.iter().filter(columns).count() > 1 {
            // For a CHECK over several columns, the generator exchanges values between rows until they keep the CHECK. So no expression is
            // dropped.
            return false;
        }
        let Some((_, expressions)) = self.tables.get_mut(&table.name) else { return false };
        let mut found = false;
        for (column, expression) in table.columns.iter().zip(expressions) {
            if expression.is_some() && named.iter().any(|name| name.eq_ignore_ascii_case(&column.name)) {
                *expression = None;
                found = true;
                self.notes.push(format!(
                    "{}.{} is generated from its declaration alone: a CHECK names it",
                    table.name, column.name
                ));
            }
        }
        found
    }
}

/// Formats a count with its noun, such as `1 table` or `2 tables`.
fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
