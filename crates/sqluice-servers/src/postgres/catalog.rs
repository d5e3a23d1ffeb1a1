//! Reads the tables, types, sequences and constraints of a database from the system catalogs, in the order in which pg_dump writes them.

use std::collections::HashMap;

use sqluice_core::error::Result;

use super::connection::{Connection, Row};
use super::query;
use crate::Request;

/// The SQL condition for objects of users: it excludes objects of the system and objects that belong to an extension.
const OF_USERS: &str = "n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend e \
    WHERE e.objid = $OID AND e.classid = $CLASS::pg_catalog.regclass AND e.deptype = 'e')";

/// The ORDER BY clause of pg_dump: names are compared byte by byte.
const IN_ORDER: &str = "ORDER BY n.nspname COLLATE \"C\", c.relname COLLATE \"C\"";

/// A table. A partitioned table is one, too: it is the parent of its partitions and stores no rows itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    oid: String,
    /// The number of the table's file. TRUNCATE and some ALTER TABLE statements give the table a new file.
    file_node: String,
    pub(super) schema: String,
    pub(super) name: String,
    /// The name with its schema, quoted for SQL.
    pub(super) sql_name: String,
    pub(super) is_partitioned: bool,
    pub(super) is_unlogged: bool,
    /// The partition key; `None` for a table that is not partitioned.
    pub(super) partition_key: Option<String>,
    /// For a partition: the name of its parent, quoted for SQL, and its bounds.
    pub(super) partition_of: Option<(String, String)>,
    /// The names of the tables whose columns this table inherits, quoted for SQL. Empty for a partition.
    pub(super) inherits: Vec<String>,
    /// The OIDs of all parents, including the parent of a partition.
    parents: Vec<String>,
    pub(super) comment: Option<String>,
    /// An estimate of the number of pages.
    pub(super) pages: u64,
    /// An estimate of the number of rows.
    rows: Option<u64>,
    /// `true` if the table is a heap, so that ranges of its pages can be read.
    pub(super) is_heap: bool,
    /// `true` if the server's statistics show that rows are not stored in the order of the primary key, for example after UPDATEs.
    pub(super) is_out_of_order: bool,
    pub(super) columns: Vec<Column>,
    /// The CHECK constraints of the declaration: their names and definitions.
    pub(super) checks: Vec<(String, String)>,
    /// `true` if a table of the schema `public` has the same name, so that this table must be named with its schema.
    is_hidden: bool,
    /// The tables above a partition: their schemas and names.
    ancestors: Vec<(String, String)>,
}

/// A column of a table.
#[derive(Clone, Debug, Default)]
pub(super) struct Column {
    /// The name, quoted for SQL.
    pub(super) name: String,
    pub(super) declared: String,
    pub(super) collation: Option<String>,
    pub(super) not_null: bool,
    /// The kind of a generated column: `s` for stored, `v` for virtual; empty for other columns.
    pub(super) generated: String,
    /// The default, or the expression of a generated column.
    pub(super) expression: Option<String>,
    /// `true` if the table itself declares the column, and not only its parent.
    pub(super) is_local: bool,
    pub(super) comment: Option<String>,
    /// `true` if the default is the next value of a sequence that the column owns.
    pub(super) has_sequence: bool,
}

/// A sequence.
#[derive(Clone, Debug, Default)]
pub(super) struct Sequence {
    pub(super) sql_name: String,
    pub(super) declared: String,
    pub(super) start: String,
    pub(super) increment: String,
    pub(super) min: String,
    pub(super) max: String,
    pub(super) cycles: bool,
    /// The table and the column that own the sequence, quoted for SQL, and the dependency: `a` for a default, `i` for an identity column.
    pub(super) owner: Option<(String, String, String)>,
    /// The identity column's kind: `a` for GENERATED ALWAYS, `d` for BY DEFAULT.
    pub(super) identity: String,
    /// The sequence's last value, and `true` if that value was already used; `None` if the user may not read the sequence.
    pub(super) last: Option<(String, bool)>,
}

/// The declarations of a database.
#[derive(Clone, Debug, Default)]
pub(super) struct Catalog {
    pub(super) tables: Vec<Table>,
    /// Statements that create types.
    pub(super) types: Vec<String>,
    pub(super) sequences: Vec<Sequence>,
    /// Statements that add constraints and indexes, in the order of pg_dump, each with the schema of its table.
    pub(super) constraints: Vec<(String, String)>,
    /// Statements that create objects which SQLite lacks: views, functions and triggers.
    pub(super) others: Vec<String>,
}

impl Table {
    /// Returns `true` if `name`, which the user gave, means this table: as `table`, `schema.table` or `schema_table`.
    pub(super) fn has_name(&self, name: &str) -> bool {
        let is_named = |schema: &str, table: &str| {
            let wanted = |known: &str| known.eq_ignore_ascii_case(name);
            wanted(table) && !self.is_hidden
                || wanted(&format!("{schema}.{table}"))
                || wanted(&format!("{schema}_{table}"))
        };
        // The name of a partitioned table also means its partitions, which hold its rows.
        is_named(&self.schema, &self.name)
            || self.ancestors.iter().any(|(schema, table)| is_named(schema, table))
    }

    /// Returns `true` if the table is in the schema that the user wants to read.
    pub(super) fn in_schema(&self, request: &Request) -> bool {
        request.schema_name.as_ref().is_none_or(|schema| *schema == self.schema)
    }

    /// Returns `true` if the user wants to read the table's rows.
    pub(super) fn is_wanted(&self, request: &Request) -> bool {
        self.in_schema(request)
            && (request.tables.is_empty() || request.tables.iter().any(|name| self.has_name(name)))
    }

    /// Returns the user's conditions for the rows of the table, as one SQL condition.
    pub(super) fn condition(&self, request: &Request) -> Option<String> {
        let of_table = request.filters.iter().filter(|(name, _)| self.has_name(name));
        let conditions: Vec<&str> = of_table.map(|(_, condition)| &**condition).collect();
        (!conditions.is_empty()).then(|| conditions.join("\n) AND ("))
    }

    /// Returns `true` if the table stores rows itself, not only in its partitions.
    pub(super) fn has_rows(&self) -> bool {
        !self.is_partitioned
    }

    /// Returns an estimate of the number of rows to be read; `None` if the user gives a condition, or the server has no estimate.
    pub(super) fn rows(&self, request: &Request) -> Option<u64> {
        self.rows.filter(|_| self.condition(request).is_none())
    }

    /// Returns `true` if both are the same table, not renamed and not truncated in between.
    pub(super) fn is_same(&self, other: &Table) -> bool {
        self.oid == other.oid && self.sql_name == other.sql_name && self.file_node == other.file_node
    }

    /// Returns the names of the columns that are not generated, quoted for SQL.
    pub(super) fn given_columns(&self) -> Vec<&str> {
        self.columns.iter().filter(|column| column.generated.is_empty()).map(|column| &*column.name).collect()
    }
}

impl Catalog {
    /// Returns an estimate of the number of pages to be read.
    pub(super) fn pages(&self, request: &Request) -> u64 {
        self.tables.iter().filter(|table| table.is_wanted(request)).map(|table| table.pages).sum()
    }

    /// Reads the tables, without their columns.
    ///
    /// # Errors
    /// If the server refuses a query, or the connection ends.
    pub(super) fn tables(connection: &mut Connection) -> Result<Vec<Table>> {
        let sql = format!(
            "SELECT c.oid, pg_catalog.pg_relation_filenode(c.oid), n.nspname, c.relname, pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname), c.relkind, \
             c.relpersistence, c.relpages, c.reltuples, a.amname, \
             CASE WHEN c.relkind = 'p' THEN pg_catalog.pg_get_partkeydef(c.oid) END, c.relispartition, \
             pg_catalog.pg_get_expr(c.relpartbound, c.oid), pg_catalog.obj_description(c.oid, 'pg_class') \
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             LEFT JOIN pg_catalog.pg_am a ON a.oid = c.relam \
             WHERE c.relkind IN ('r', 'p') AND {} {IN_ORDER}",
            of_users("c.oid", "pg_class")
        );
        let mut tables = Vec::new();
        let mut bounds: HashMap<String, String> = HashMap::new();
        for row in read(connection, &sql)? {
            let mut row = Fields::of(row);
            let mut table = Table {
                oid: row.text(),
                file_node: row.text(),
                schema: row.text(),
                name: row.text(),
                sql_name: row.text(),
                is_partitioned: row.text() == "p",
                is_unlogged: row.text() == "u",
                pages: row.text().parse().unwrap_or(0),
                // The server reports -1 if it has no estimate.
                rows: row.text().parse::<f64>().ok().filter(|rows| *rows >= 0.0).map(|rows| rows as u64),
                ..Table::default()
            };
            // Before table access methods existed (PostgreSQL 12), all tables were heaps.
            table.is_heap = row.next().is_none_or(|method| method == "heap") && !table.is_partitioned;
            table.partition_key = row.next();
            if row.is_true() {
                bounds.insert(table.oid.clone(), row.text());
            } else {
                row.next();
            }
            table.comment = row.next();
            tables.push(table);
        }
        let inherited = "SELECT inhrelid, inhparent FROM pg_catalog.pg_inherits ORDER BY inhrelid, inhseqno";
        let places: HashMap<String, usize> =
            tables.iter().enumerate().map(|(place, table)| (table.oid.clone(), place)).collect();
        for row in read(connection, inherited)? {
            let mut row = Fields::of(row);
            let (child, parent) = (row.text(), row.text());
            let (Some(&child), Some(&parent)) = (places.get(&child), places.get(&parent)) else { continue };
            let (parent_name, parent_oid) = (tables[parent].sql_name.clone(), tables[parent].oid.clone());
            match bounds.remove(&tables[child].oid) {
                Some(bounds) => tables[child].partition_of = Some((parent_name, bounds)),
                None => tables[child].inherits.push(parent_name),
            }
            tables[child].parents.push(parent_oid);
        }
        let of_public: Vec<String> =
            tables.iter().filter(|table| table.schema == "public").map(|table| table.name.clone()).collect();
        for table in tables.iter_mut().filter(|table| table.schema != "public") {
            table.is_hidden = of_public.iter().any(|name| name.eq_ignore_ascii_case(&table.name));
        }
        for place in 0..tables.len() {
            let mut ancestors = Vec::new();
            let mut at = place;
            while tables[at].partition_of.is_some() && ancestors.len() < tables.len() {
                let Some(&parent) = tables[at].parents.first().and_then(|oid| places.get(oid)) else { break };
                ancestors.push((tables[parent].schema.clone(), tables[parent].name.clone()));
                at = parent;
            }
            tables[place].ancestors = ancestors;
        }
        Ok(tables)
    }

    /// Reads all declarations.
    ///
    /// # Errors
    /// If the server refuses a query, or the connection ends.
    pub(super) fn read(connection: &mut Connection) -> Result<Catalog> {
        let mut tables = Catalog::tables(connection)?;
        // Move parents before the tables that inherit from them.
        let mut at = 0;
        let mut moves = 0;
        while at < tables.len() {
            let later = (at + 1..tables.len()).find(|&later| {
                tables[at].partition_of.is_none() && tables[at].parents.contains(&tables[later].oid)
            });
            match later {
                Some(later) if moves < tables.len() * tables.len() => {
                    let parent = tables.remove(later);
                    tables.insert(at, parent);
                    moves += 1;
                }
                _ => at += 1,
            }
        }
        let mut catalog = Catalog { tables, ..Catalog::default() };
        catalog.read_columns(connection)?;
        catalog.read_checks(connection)?;
        catalog.read_order(connection)?;
        catalog.read_types(connection)?;
        catalog.read_sequences(connection)?;
        catalog.read_constraints(connection)?;
        catalog.read_others(connection)?;
        Ok(catalog)
    }

    fn places(&self) -> HashMap<String, usize> {
        self.tables.iter().enumerate().map(|(place, table)| (table.oid.clone(), place)).collect()
    }

    fn read_columns(&mut self, connection: &mut Connection) -> Result<()> {
        let generated = if connection.version >= 120_000 { "a.attgenerated" } else { "''" };
        let sql = format!(
            "SELECT a.attrelid, pg_catalog.quote_ident(a.attname), pg_catalog.format_type(a.atttypid, a.atttypmod), \
             CASE WHEN a.attcollation <> t.typcollation THEN (SELECT pg_catalog.quote_ident(x.nspname) || '.' || pg_catalog.quote_ident(l.collname) \
             FROM pg_catalog.pg_collation l JOIN pg_catalog.pg_namespace x ON x.oid = l.collnamespace WHERE l.oid = a.attcollation) END, \
             a.attnotnull, {generated}, pg_catalog.pg_get_expr(d.adbin, d.adrelid), a.attislocal, pg_catalog.col_description(a.attrelid, a.attnum), \
             EXISTS (SELECT FROM pg_catalog.pg_depend s JOIN pg_catalog.pg_class q ON q.oid = s.objid AND q.relkind = 'S' \
             WHERE s.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND s.refobjid = a.attrelid AND s.refobjsubid = a.attnum AND s.deptype = 'a') \
             FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p') \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace JOIN pg_catalog.pg_type t ON t.oid = a.atttypid \
             LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
             WHERE a.attnum > 0 AND NOT a.attisdropped AND {} ORDER BY a.attrelid, a.attnum",
            of_users("c.oid", "pg_class")
        );
        let places = self.places();
        for row in read(connection, &sql)? {
            let mut row = Fields::of(row);
            let Some(&place) = places.get(&row.text()) else { continue };
            let table = &mut self.tables[place];
            let column = Column {
                name: row.text(),
                declared: row.text(),
                collation: row.next(),
                not_null: row.is_true(),
                generated: row.text(),
                expression: row.next(),
                is_local: row.is_true(),
                comment: row.next(),
                has_sequence: row.is_true(),
            };
            table.columns.push(column);
        }
        Ok(())
    }

    fn read_checks(&mut self, connection: &mut Connection) -> Result<()> {
        let sql = "SELECT k.conrelid, pg_catalog.quote_ident(k.conname), pg_catalog.pg_get_constraintdef(k.oid) FROM pg_catalog.pg_constraint k \
                   WHERE k.contype = 'c' AND k.conislocal AND k.convalidated AND k.conrelid <> 0 ORDER BY k.conname COLLATE \"C\"";
        let places = self.places();
        for row in read(connection, sql)? {
            let mut row = Fields::of(row);
            if let Some(&place) = places.get(&row.text()) {
                let check = (row.text(), row.text());
                self.tables[place].checks.push(check);
            }
        }
        Ok(())
    }

    /// Finds the tables whose rows are not stored in the order of their primary key, if the key has one column.
    fn read_order(&mut self, connection: &mut Connection) -> Result<()> {
        let sql = format!(
            "SELECT c.oid, s.correlation < 0.9999 FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indrelid \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0] \
             JOIN pg_catalog.pg_stats s ON s.schemaname = n.nspname AND s.tablename = c.relname AND s.attname = a.attname AND NOT s.inherited \
             WHERE i.indisprimary AND i.indnatts = 1 AND c.relkind = 'r' AND {}",
            of_users("c.oid", "pg_class")
        );
        let places = self.places();
        for row in read(connection, &sql)? {
            let mut row = Fields::of(row);
            if let Some(&place) = places.get(&row.text()) {
                self.tables[place].is_out_of_order = row.is_true();
            }
        }
        Ok(())
    }

    fn read_types(&mut self, connection: &mut Connection) -> Result<()> {
        let name = "pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(t.typname)";
        let of_users = of_users("t.oid", "pg_type");
        let enums = format!(
            "SELECT 'CREATE TYPE ' || {name} || E' AS ENUM (\\n    ' || pg_catalog.string_agg(pg_catalog.quote_literal(e.enumlabel), E',\\n    ' ORDER BY e.enumsortorder) || E'\\n);' \
             FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace JOIN pg_catalog.pg_enum e ON e.enumtypid = t.oid \
             WHERE {of_users} GROUP BY n.nspname, t.typname ORDER BY n.nspname COLLATE \"C\", t.typname COLLATE \"C\""
        );
        let composites = format!(
            "SELECT 'CREATE TYPE ' || {name} || E' AS (\\n    ' || pg_catalog.string_agg(pg_catalog.quote_ident(a.attname) || ' ' || pg_catalog.format_type(a.atttypid, a.atttypmod), E',\\n    ' ORDER BY a.attnum) || E'\\n);' \
             FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace JOIN pg_catalog.pg_class c ON c.oid = t.typrelid AND c.relkind = 'c' \
             JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
             WHERE {of_users} GROUP BY n.nspname, t.typname ORDER BY n.nspname COLLATE \"C\", t.typname COLLATE \"C\""
        );
        let ranges = format!(
            "SELECT 'CREATE TYPE ' || {name} || ' AS RANGE (subtype = ' || pg_catalog.format_type(r.rngsubtype, NULL) || ');' \
             FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace JOIN pg_catalog.pg_range r ON r.rngtypid = t.oid \
             WHERE {of_users} ORDER BY n.nspname COLLATE \"C\", t.typname COLLATE \"C\""
        );
        // Domains are ordered by OID, so that a domain comes after the domain that it is based on, which usually has a smaller OID.
        let domains = format!(
            "SELECT 'CREATE DOMAIN ' || {name} || ' AS ' || pg_catalog.format_type(t.typbasetype, t.typtypmod) || CASE WHEN t.typnotnull THEN ' NOT NULL' ELSE '' END \
             || pg_catalog.coalesce_default || pg_catalog.coalesce_checks || ';' \
             FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace WHERE t.typtype = 'd' AND {of_users} ORDER BY t.oid"
        )
        .replace("pg_catalog.coalesce_default", "CASE WHEN t.typdefault IS NULL THEN '' ELSE ' DEFAULT ' || COALESCE(pg_catalog.pg_get_expr(t.typdefaultbin, 0), t.typdefault) END")
        .replace(
            "pg_catalog.coalesce_checks",
            "COALESCE((SELECT pg_catalog.string_agg(E'\\n    CONSTRAINT ' || pg_catalog.quote_ident(k.conname) || ' ' || pg_catalog.pg_get_constraintdef(k.oid), '' ORDER BY k.conname COLLATE \"C\") \
             FROM pg_catalog.pg_constraint k WHERE k.contypid = t.oid AND k.contype = 'c'), '')",
        );
        for sql in [enums, composites, ranges, domains] {
            self.types.extend(texts(connection, &sql)?);
        }
        Ok(())
    }

    fn read_sequences(&mut self, connection: &mut Connection) -> Result<()> {
        let sql = format!(
            "SELECT pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname), pg_catalog.format_type(s.seqtypid, NULL), s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcycle, \
             o.owner, o.attname, o.deptype, o.attidentity, pg_catalog.has_sequence_privilege(c.oid, 'SELECT') \
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace JOIN pg_catalog.pg_sequence s ON s.seqrelid = c.oid \
             LEFT JOIN LATERAL (SELECT pg_catalog.quote_ident(x.nspname) || '.' || pg_catalog.quote_ident(t.relname) AS owner, pg_catalog.quote_ident(a.attname) AS attname, d.deptype, a.attidentity \
             FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_class t ON t.oid = d.refobjid JOIN pg_catalog.pg_namespace x ON x.oid = t.relnamespace \
             JOIN pg_catalog.pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid \
             WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = c.oid AND d.objsubid = 0 AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass \
             AND d.deptype IN ('a', 'i') LIMIT 1) o ON true \
             WHERE {} {IN_ORDER}",
            of_users("c.oid", "pg_class")
        );
        let mut readable = Vec::new();
        for row in read(connection, &sql)? {
            let mut row = Fields::of(row);
            let mut sequence = Sequence {
                sql_name: row.text(),
                declared: row.text(),
                start: row.text(),
                increment: row.text(),
                min: row.text(),
                max: row.text(),
                cycles: row.is_true(),
                ..Sequence::default()
            };
            if let (Some(table), Some(column), Some(how)) = (row.next(), row.next(), row.next()) {
                sequence.owner = Some((table, column, how));
            }
            sequence.identity = row.text();
            if row.is_true() {
                readable.push(self.sequences.len());
            }
            self.sequences.push(sequence);
        }
        for some in readable.chunks(200) {
            let of_one = |&at: &usize| {
                format!("SELECT {at}, last_value, is_called FROM {}", self.sequences[at].sql_name)
            };
            let sql = some.iter().map(of_one).collect::<Vec<_>>().join(" UNION ALL ");
            for row in read(connection, &sql)? {
                let mut row = Fields::of(row);
                let at: usize = row.text().parse().unwrap_or(usize::MAX);
                let last = (row.text(), row.is_true());
                if let Some(sequence) = self.sequences.get_mut(at) {
                    sequence.last = Some(last);
                }
            }
        }
        Ok(())
    }

    fn read_constraints(&mut self, connection: &mut Connection) -> Result<()> {
        let of_users = of_users("c.oid", "pg_class");
        let table = "pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname)";
        let of_tables = "FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_class c ON c.oid = k.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace";
        let in_order = "ORDER BY n.nspname COLLATE \"C\", k.conname COLLATE \"C\", c.relname COLLATE \"C\"";
        let add = format!(
            "{table} || E'\\n    ADD CONSTRAINT ' || pg_catalog.quote_ident(k.conname) || ' ' || pg_catalog.pg_get_constraintdef(k.oid) || ';'"
        );
        let keys = format!(
            "SELECT n.nspname, 'ALTER TABLE ONLY ' || {add} {of_tables} WHERE k.contype IN ('p', 'u', 'x') AND {of_users} {in_order}"
        );
        let indexes = format!(
            "SELECT n.nspname, pg_catalog.pg_get_indexdef(i.indexrelid) || ';' FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indrelid AND c.relkind IN ('r', 'p') \
             JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             WHERE (i.indisvalid OR c.relkind = 'p') AND i.indisready AND {of_users} \
             AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint k WHERE k.conindid = i.indexrelid AND k.conrelid = i.indrelid AND k.contype IN ('p', 'u', 'x')) \
             ORDER BY n.nspname COLLATE \"C\", x.relname COLLATE \"C\""
        );
        let unchecked = format!(
            "SELECT n.nspname, 'ALTER TABLE ' || {add} {of_tables} WHERE k.contype = 'c' AND k.conislocal AND NOT k.convalidated AND {of_users} {in_order}"
        );
        let of_parent = if connection.version >= 110_000 { "AND k.conparentid = 0" } else { "" };
        let foreign = format!(
            "SELECT n.nspname, 'ALTER TABLE ' || CASE WHEN c.relkind = 'p' THEN '' ELSE 'ONLY ' END || {add} {of_tables} WHERE k.contype = 'f' {of_parent} AND {of_users} {in_order}"
        );
        for sql in [unchecked, keys, indexes, foreign] {
            for row in read(connection, &sql)? {
                let mut row = Fields::of(row);
                self.constraints.push((row.text(), row.text()));
            }
        }
        Ok(())
    }

    fn read_others(&mut self, connection: &mut Connection) -> Result<()> {
        let of_class = of_users("c.oid", "pg_class");
        let name = "pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname)";
        let views = format!(
            "SELECT CASE c.relkind WHEN 'v' THEN 'CREATE VIEW ' WHEN 'm' THEN 'CREATE MATERIALIZED VIEW ' ELSE 'CREATE FOREIGN TABLE ' END || {name} \
             || CASE c.relkind WHEN 'f' THEN ' ();' ELSE E' AS\\n' || pg_catalog.pg_get_viewdef(c.oid) END \
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('v', 'm', 'f') AND {of_class} {IN_ORDER}"
        );
        let kind =
            if connection.version >= 110_000 { "p.prokind IN ('f', 'p', 'w')" } else { "NOT p.proisagg" };
        let functions = format!(
            "SELECT pg_catalog.pg_get_functiondef(p.oid) || ';' FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace \
             WHERE {kind} AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend i WHERE i.objid = p.oid AND i.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND i.deptype = 'i') \
             AND {} ORDER BY n.nspname COLLATE \"C\", p.proname COLLATE \"C\"",
            of_users("p.oid", "pg_proc")
        );
        let triggers = format!(
            "SELECT pg_catalog.pg_get_triggerdef(t.oid) || ';' FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE NOT t.tgisinternal AND {of_class} \
             ORDER BY n.nspname COLLATE \"C\", t.tgname COLLATE \"C\""
        );
        for sql in [functions, views, triggers] {
            self.others.extend(texts(connection, &sql)?);
        }
        Ok(())
    }
}

/// Returns the condition for objects of users.
fn of_users(oid: &str, class: &str) -> String {
    OF_USERS.replace("$OID", oid).replace("$CLASS", &format!("'pg_catalog.{class}'"))
}

fn read(connection: &mut Connection, sql: &str) -> Result<Vec<Row>> {
    query(connection, sql, "cannot read the declarations of the database")
}

/// Returns the first column of a query.
fn texts(connection: &mut Connection, sql: &str) -> Result<Vec<String>> {
    let rows = read(connection, sql)?;
    Ok(rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
}

/// The fields of a row, in order.
struct Fields(std::vec::IntoIter<Option<String>>);

impl Fields {
    fn of(row: Row) -> Fields {
        Fields(row.into_iter())
    }

    fn next(&mut self) -> Option<String> {
        self.0.next().flatten()
    }

    fn text(&mut self) -> String {
        self.next().unwrap_or_default()
    }

    fn is_true(&mut self) -> bool {
        self.next().is_some_and(|text| text == "t")
    }
}
