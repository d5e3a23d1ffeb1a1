//! The full-text indexes of an index run: the settings, the requests for the engine that they become, and the report.

use serde::Serialize;
use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::given::{TakesSettings, Value};
use sqluice_core::setters;
use sqluice_engine::existing::full_text::WrittenTextIndex;
use sqluice_engine::existing::full_text::declared::DeclaredTextIndex;
use sqluice_engine::existing::full_text::remake::{Kind, Remade, Remake};
use sqluice_engine::existing::full_text::request::{Content, Request};
use sqluice_engine::options::WritePath;

/// Full-text indexes (FTS5) to create, all with the same options, and existing ones to rebuild or optimize.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FullText {
    /// The tables with the columns to search, such as `products(name, note UNINDEXED)`.
    pub tables: Vec<String>,
    /// The name of the only full-text table; `None`: the name of the table with `_fts`.
    pub name: Option<String>,
    /// The tokenizer and its arguments, such as `porter ascii`.
    pub tokenize: Option<String>,
    /// The numbers of characters of prefix indexes, such as `2 3`.
    pub prefix: Option<String>,
    /// Other options of FTS5, such as `detail=none`.
    pub options: Vec<String>,
    /// `true` if the full-text table keeps a copy of the text.
    pub own_content: bool,
    /// `true` if triggers keep the index up to date.
    pub triggers: bool,
    /// The full-text tables whose segments are merged into one.
    pub optimize: Vec<String>,
    /// The full-text tables whose index is made again from the texts.
    pub rebuild: Vec<String>,
}

setters! { FullText:
    /// Sets the name of the only full-text table.
    name(name: impl Into<Option<String>>) = name.into();
    /// Sets the tokenizer and its arguments.
    tokenize(tokenize: impl Into<Option<String>>) = tokenize.into();
    /// Sets the numbers of characters of prefix indexes.
    prefix(prefix: impl Into<Option<String>>) = prefix.into();
    /// Sets other options of FTS5, such as `detail=none`.
    options(options: impl IntoIterator<Item = impl Into<String>>) = options.into_iter().map(Into::into).collect();
    /// Lets the full-text table keep a copy of the text.
    own_content(own_content: bool) = own_content;
    /// Creates triggers that keep the index up to date.
    triggers(triggers: bool) = triggers;
    /// Sets the full-text tables whose segments are merged into one.
    optimize(tables: impl IntoIterator<Item = impl Into<String>>) = tables.into_iter().map(Into::into).collect();
    /// Sets the full-text tables whose index is made again from the texts.
    rebuild(tables: impl IntoIterator<Item = impl Into<String>>) = tables.into_iter().map(Into::into).collect();
}

impl TakesSettings for FullText {
    fn set(&mut self, setting: Setting, value: &Value) -> Result<bool> {
        match setting {
            Setting::Fts => self.tables = value.to()?,
            Setting::FtsName => self.name = Some(value.to()?),
            Setting::Tokenize => self.tokenize = Some(value.to()?),
            Setting::Prefix => self.prefix = Some(value.to()?),
            Setting::FtsOption => self.options = value.to()?,
            Setting::FtsContent => {
                self.own_content = value.word(setting, &[("external", false), ("own", true)])?;
            }
            Setting::Triggers => self.triggers = value.to()?,
            Setting::FtsOptimize => self.optimize = value.to()?,
            Setting::FtsRebuild => self.rebuild = value.to()?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl FullText {
    /// Creates full-text indexes of tables, each given with the columns to search, such as `products(name, description)`.
    pub fn new(tables: impl IntoIterator<Item = impl Into<String>>) -> FullText {
        FullText { tables: tables.into_iter().map(Into::into).collect(), ..FullText::default() }
    }

    /// Returns the full-text tables to remake. Tables are made again before segments are merged.
    pub(super) fn remakes(&self) -> Vec<(String, Kind)> {
        let rebuild = self.rebuild.iter().map(|name| (name.clone(), Kind::Rebuild));
        rebuild.chain(self.optimize.iter().map(|name| (name.clone(), Kind::Optimize))).collect()
    }

    /// Returns the wanted full-text tables.
    ///
    /// # Errors
    /// If a table or an option is malformed, or a name is given for several tables.
    pub(super) fn requests(&self) -> Result<Vec<Request>> {
        if self.tables.len() != 1 && self.name.is_some() {
            return Err(Error::usage(message![
                Setting::FtsName,
                " is the name of one full-text table, and ",
                Setting::Fts,
                format!(" is given {} times", self.tables.len())
            ])
            .hint("create each in a run of its own, or take the names that follow from the tables"));
        }
        let options = self.options.iter().map(|option| match option.split_once('=') {
            Some((name, value)) => Ok((name.trim().to_ascii_lowercase(), value.trim().to_owned())),
            None => Err(Error::usage(message![
                Setting::FtsOption,
                format!(": {option:?} is no name and value, such as detail=none")
            ])),
        });
        let options = options.collect::<Result<Vec<_>>>()?;
        let requests = self.tables.iter().map(|table| {
            let request = Request::parse(table)?;
            Ok(Request {
                name: self.name.clone().unwrap_or(request.name),
                content: if self.own_content { Content::Own } else { Content::External },
                tokenize: self.tokenize.clone(),
                prefix: self.prefix.clone(),
                options: options.clone(),
                triggers: self.triggers,
                ..request
            })
        });
        requests.collect()
    }
}

/// The work on a full-text index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FullTextWork {
    /// The full-text table is created and filled.
    #[default]
    Create,
    /// All segments are merged into one.
    Optimize,
    /// The index is made again from the texts.
    Rebuild,
}

impl From<Kind> for FullTextWork {
    fn from(kind: Kind) -> FullTextWork {
        match kind {
            Kind::Optimize => FullTextWork::Optimize,
            Kind::Rebuild => FullTextWork::Rebuild,
        }
    }
}

/// The plan for a full-text index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PlannedFullText {
    /// The work.
    pub work: FullTextWork,
    /// The name of the full-text table.
    pub name: String,
    /// The table whose rows are indexed.
    pub table: String,
    /// The write path: `sorted`, or `sqlite` if SQLite builds the index.
    pub write_path: WritePath,
    /// The reason for the write path.
    pub why: String,
    /// The CREATE VIRTUAL TABLE statement, or SQLite's own statement for the other work.
    pub sql: String,
    /// The CREATE TRIGGER statements.
    pub triggers: Vec<String>,
}

impl PlannedFullText {
    pub(super) fn new(declared: &DeclaredTextIndex<'_>) -> PlannedFullText {
        PlannedFullText {
            work: FullTextWork::Create,
            name: declared.request.name.clone(),
            table: declared.table.name.clone(),
            write_path: declared.write_path(),
            why: declared.why.clone(),
            sql: declared.sql.clone(),
            triggers: declared.triggers.clone(),
        }
    }

    pub(super) fn of_remake(remake: &Remake) -> PlannedFullText {
        PlannedFullText {
            work: remake.kind.into(),
            name: remake.name.clone(),
            table: remake.table.clone(),
            write_path: remake.write_path(),
            why: remake.why.clone(),
            sql: remake.sql.clone(),
            triggers: Vec::new(),
        }
    }
}

/// The report of a full-text index. The numbers are 0 if SQLite built the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FullTextReport {
    /// The work.
    pub work: FullTextWork,
    /// The name of the full-text table.
    pub name: String,
    /// The table whose rows are indexed.
    pub table: String,
    /// The write path.
    pub write_path: WritePath,
    /// The number of rows.
    pub rows: u64,
    /// The number of tokens in all texts.
    pub tokens: u64,
    /// The number of different terms, with those of prefix indexes.
    pub terms: u64,
    /// The number of leaf pages of the index.
    pub leaf_pages: u32,
    /// The bytes of these leaf pages.
    pub bytes: u64,
    /// The number of segments that were merged; 0 if there was one already, or for other work.
    pub merged_segments: usize,
}

impl FullTextReport {
    pub(super) fn new(declared: &DeclaredTextIndex<'_>, written: Option<WrittenTextIndex>) -> FullTextReport {
        let (name, table) = (declared.request.name.clone(), declared.table.name.clone());
        FullTextReport::of(FullTextWork::Create, (name, table), declared.write_path(), written)
    }

    pub(super) fn of_remake(remake: &Remake, remade: &Remade) -> FullTextReport {
        let names = (remake.name.clone(), remake.table.clone());
        let path = if remade.written.is_some() { remake.write_path() } else { WritePath::Sqlite };
        let report = FullTextReport::of(remake.kind.into(), names, path, remade.written);
        FullTextReport { merged_segments: remade.merged_segments, ..report }
    }

    fn of(
        work: FullTextWork,
        (name, table): (String, String),
        write_path: WritePath,
        written: Option<WrittenTextIndex>,
    ) -> FullTextReport {
        let WrittenTextIndex { rows, tokens, terms, leaves, bytes } = written.unwrap_or_default();
        FullTextReport {
            work,
            name,
            table,
            write_path,
            rows,
            tokens,
            terms,
            leaf_pages: leaves,
            bytes,
            merged_segments: 0,
        }
    }
}
