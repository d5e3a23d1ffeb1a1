//! Full-text tables over a table that grows: those that its triggers keep up to date, and those that stay behind.
//!
//! Rows that are written as pages fire no trigger. So their terms are added to a full-text table if its trigger has the form of the
//! documentation of FTS5. Other triggers need SQLite, which then inserts the rows.

use rusqlite::Connection;
use sqluice_core::error::Result;
use sqluice_core::schema::virtual_table::VirtualTableSql;
use sqluice_core::schema::{Schema, Table, quoted};

use crate::existing::Transaction;
use crate::full_text::declaration::{Content, Declaration};
use crate::full_text::table::{Means, TextTable};
use crate::full_text::triggers::{code, documented, event};
use crate::plan::{Plan, TablePlan};
use crate::target::TextFollowers;

/// Finds the full-text tables over a table.
pub(crate) fn followers(connection: &Connection, schema: &Schema, table: &Table) -> TextFollowers {
    let of_table = schema.others.iter().filter(|object| object.kind == "trigger");
    let of_table = of_table.filter(|object| object.table.eq_ignore_ascii_case(&table.name));
    let triggers = of_table.map(|object| object.sql.as_deref().unwrap_or_default());
    let inserts: Vec<&str> =
        triggers.filter(|sql| event(sql).is_none_or(|event| event == "INSERT")).collect();
    let mut followers = TextFollowers { are_all: !inserts.is_empty(), ..TextFollowers::default() };
    let over = schema.others.iter().filter(|object| {
        let made = VirtualTableSql::of(object.sql.as_deref().unwrap_or_default());
        let content = made.option("content");
        object.kind == "table"
            && made.module.eq_ignore_ascii_case("fts5")
            && content.is_some_and(|content| content.eq_ignore_ascii_case(&table.name))
            && !inserts.iter().any(|sql| may_reach(schema, table, sql, &object.name))
    });
    followers.behind = over.map(|object| object.name.clone()).collect();
    let is_ours = |name: &String| {
        let declaration = Declaration::of(connection, name).ok().and_then(Result::ok);
        declaration.is_some_and(|declaration| means_rowid(table, &declaration))
    };
    followers.only_sqlite = followers.behind.iter().filter(|name| !is_ours(name)).cloned().collect();
    for sql in inserts {
        match follower(connection, table, sql) {
            Some(name) if !followers.full_text.contains(&name) => followers.full_text.push(name),
            _ => followers.are_all = false,
        }
    }
    followers
}

/// Returns `true` if a trigger of `table` may write to the full-text table `name`: by itself, or by a trigger of another table.
fn may_reach(schema: &Schema, table: &Table, sql: &str, name: &str) -> bool {
    let has_trigger = |other: &str| {
        let mut triggers = schema.others.iter().filter(|object| object.kind == "trigger");
        triggers.any(|trigger| trigger.table.eq_ignore_ascii_case(other))
    };
    code(sql).iter().filter_map(|token| token.name(sql)).any(|named| {
        named.eq_ignore_ascii_case(name) || !named.eq_ignore_ascii_case(&table.name) && has_trigger(&named)
    })
}

/// Returns the full-text table that a trigger of `table` keeps up to date, if the trigger has the documented form.
fn follower(connection: &Connection, table: &Table, sql: &str) -> Option<String> {
    let (name, pairs) = documented(sql, &table.name)?;
    // A table that SQLite can't use here needs an application. SQLite says so if rows go to it.
    let declaration = Declaration::of(connection, &name).ok()?.ok()?;
    let Content::External { table: content, rowid } = &declaration.content else { return None };
    let has = |to: &str, from: &str| {
        pairs.iter().any(|pair| pair.0.eq_ignore_ascii_case(to) && pair.1.eq_ignore_ascii_case(from))
    };
    let columns = &declaration.columns;
    let has_indexed =
        columns.iter().filter(|column| column.is_indexed).all(|column| has(&column.name, &column.name));
    let is_known = |(to, from): &(String, String)| {
        to.eq_ignore_ascii_case("rowid")
            || to.eq_ignore_ascii_case(from)
                && columns.iter().any(|column| column.name.eq_ignore_ascii_case(to))
    };
    let rowids = pairs.iter().filter(|(to, _)| to.eq_ignore_ascii_case("rowid")).count();
    let is_same = content.eq_ignore_ascii_case(&table.name)
        && means_rowid(table, &declaration)
        && rowids == 1
        && has("rowid", rowid)
        && has_indexed
        && pairs.iter().all(is_known);
    is_same.then_some(declaration.name)
}

/// Returns `true` if the rowid of a full-text table over `table` is that of `table`.
fn means_rowid(table: &Table, declaration: &Declaration) -> bool {
    let Content::External { rowid, .. } = &declaration.content else { return false };
    let alias = table.rowid_alias.map(|alias| &*table.columns[alias].name);
    [alias, table.rowid_name()].into_iter().flatten().any(|name| name.eq_ignore_ascii_case(rowid))
}

impl Transaction<'_> {
    /// Returns the largest rowid of each table of `plan` whose new rows full-text tables get, before the rows are written.
    pub(in crate::existing) fn last_rowids(&self, plan: &Plan, schema: &Schema) -> Result<Vec<Option<i64>>> {
        let last = |(of, table): (&TablePlan, &Table)| match of.full_text.is_empty() {
            true => Ok(None),
            false => self.last_rowid(table),
        };
        plan.tables.iter().zip(&schema.tables).map(last).collect()
    }

    /// Returns the largest rowid of a table; `None` if it has no rows.
    pub(super) fn last_rowid(&self, table: &Table) -> Result<Option<i64>> {
        let Some(rowid) = rowid_of(table) else { return Ok(None) };
        let sql = format!("SELECT max({rowid}) FROM main.{}", quoted(&table.name));
        self.connection().query_row(&sql, [], |row| row.get(0)).map_err(|error| self.failed(error, "read"))
    }

    /// Adds the new rows of tables to the full-text tables of `plan`: the rows after the rowids in `last`.
    pub(in crate::existing) fn append_texts(
        &self,
        plan: &Plan,
        schema: &Schema,
        last: &[Option<i64>],
        means: &Means<'_>,
    ) -> Result<()> {
        for ((of, table), last) in plan.tables.iter().zip(&schema.tables).zip(last) {
            let first = match last {
                None => i64::MIN,
                // The largest rowid has no row after it.
                Some(i64::MAX) => continue,
                Some(last) => last + 1,
            };
            for name in &of.full_text {
                self.append_text(name, table, first, means)?;
            }
        }
        Ok(())
    }

    /// Adds the rows of a table from the rowid `first` on to a full-text table.
    pub(super) fn append_text(&self, name: &str, table: &Table, first: i64, means: &Means<'_>) -> Result<()> {
        let declaration = self.declaration(name)?;
        let text = TextTable::new(self.connection(), &declaration, means.clone())
            .with_errors(|error, what| self.failed(error, what));
        let rowid = rowid_of(table).unwrap_or_default();
        let columns = declaration.columns.iter().filter(|column| column.is_indexed);
        let columns: String = columns.map(|column| format!(", {}", quoted(&column.name))).collect();
        let sql = format!(
            "SELECT {rowid}{columns} FROM main.{} WHERE {rowid} BETWEEN ?1 AND ?2 ORDER BY {rowid}",
            quoted(&table.name)
        );
        text.append(&sql, (first, i64::MAX)).map(drop)
    }
}

/// Returns a name that means the rowid.
fn rowid_of(table: &Table) -> Option<String> {
    match table.rowid_alias {
        Some(alias) => Some(quoted(&table.columns[alias].name)),
        None => table.rowid_name().map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_triggers_of_the_documented_form_are_known() {
        let pairs = |sql: &str| documented(sql, "t").map(|(name, pairs)| (name, pairs.len()));
        let begin = "CREATE TRIGGER t_ai AFTER INSERT ON t BEGIN INSERT INTO f";
        assert_eq!(
            pairs(&format!("{begin}(rowid, a, b) VALUES (new.id, new.a, new.b); END")),
            Some(("f".to_owned(), 3))
        );
        let quoted = "CREATE TRIGGER \"x\" AFTER INSERT ON \"t\" FOR EACH ROW BEGIN -- adds\n\
                      INSERT INTO [f](rowid, \"a\") VALUES (NEW.\"id\", new.a); END";
        assert_eq!(pairs(quoted), Some(("f".to_owned(), 2)));
        for other in [
            "(rowid, a) VALUES (new.id, upper(new.a)); END",
            "(rowid, a) VALUES (new.id, old.a); END",
            "(rowid, a) VALUES (new.id, new.a); SELECT 1; END",
            "(rowid, a) SELECT new.id, new.a; END",
            "(rowid, a) VALUES (new.id, new.a) ON CONFLICT DO NOTHING; END",
            " VALUES (new.id, new.a); END",
            "(rowid, a) VALUES (new.id); END",
        ] {
            assert_eq!(pairs(&format!("{begin}{other}")), None, "{other}");
        }
        let when =
            "CREATE TRIGGER x AFTER INSERT ON t WHEN new.a BEGIN INSERT INTO f(rowid) VALUES (new.id); END";
        let before = "CREATE TRIGGER x BEFORE INSERT ON t BEGIN INSERT INTO f(rowid) VALUES (new.id); END";
        let or =
            "CREATE TRIGGER x AFTER INSERT ON t BEGIN INSERT OR REPLACE INTO f(rowid) VALUES (new.id); END";
        assert_eq!([when, before, or].map(|sql| pairs(sql).is_some()), [false; 3]);
        let events = ["CREATE TRIGGER a AFTER DELETE ON t", "CREATE TRIGGER a UPDATE OF b ON t", before];
        assert_eq!(events.map(event), [Some("DELETE"), Some("UPDATE"), Some("INSERT")]);
    }
}
