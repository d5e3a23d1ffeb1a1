//! Formats a plan as a schema file, ready to be used. Text that is no SQL is in comments.

use std::fmt;

use sqluice_core::schema::token;
use sqluice_core::size::Bytes;

use super::{Action, ExistingPlan, OnConflict, Plan, TablePlan, left_out_in_words};
use crate::output::{Replaced, ReplacedTable, Replacement};

impl TablePlan {
    fn write_sources(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SOURCES_MAX: usize = 10;
        let rows = self.rows.map_or("rows".to_owned(), |rows| format!("{rows} rows"));
        write!(f, "-- table    {}: {rows} from ", in_line(&self.name))?;
        match &self.sources[..] {
            [] => writeln!(f, "nothing"),
            [one] => writeln!(f, "{}", in_line(one)),
            several => {
                writeln!(f, "{} files", several.len())?;
                for source in several.iter().take(SOURCES_MAX) {
                    writeln!(f, "--   from   {}", in_line(source))?;
                }
                match several.len().saturating_sub(SOURCES_MAX) {
                    0 => Ok(()),
                    more => writeln!(f, "--   from   {more} more"),
                }
            }
        }?;
        let converted =
            self.all_columns.iter().filter_map(|column| Some((column, column.conversion.as_ref()?)));
        for (column, conversion) in converted {
            writeln!(f, "--   column {}: {}", in_line(&column.name), in_line(conversion))?;
        }
        Ok(())
    }
}

impl Action {
    /// Describes the effect of the run on an existing table; `None` for a new table.
    fn words(self) -> Option<&'static str> {
        match self {
            Action::Make => None,
            Action::Append => Some("rows are added to those that it has"),
            Action::Replace => Some("rows are put in the place of those that it has"),
            Action::Upsert => Some("rows whose keys it has are changed, others are added"),
        }
    }
}

impl ExistingPlan {
    fn write(&self, f: &mut fmt::Formatter<'_>, page_bytes: usize) -> fmt::Result {
        let bytes = Bytes(u64::from(self.pages) * page_bytes as u64);
        writeln!(f, "-- holds    {bytes:.1}; its journal mode remains {}", self.journal_mode)?;
        match &self.no_pages {
            Some(why) => writeln!(f, "-- pages    can't be written into it: {}", in_line(why)),
            None => Ok(()),
        }
    }
}

/// Writes the content that is lost with the old database.
fn write_replaced(replaced: &Replaced, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    const TABLES_MAX: usize = 20;
    for ReplacedTable { name, rows, estimated } in replaced.tables.iter().take(TABLES_MAX) {
        let about = if *estimated { "about " } else { "" };
        let rows = rows.map_or("unknown rows".to_owned(), |rows| format!("{about}{rows} rows"));
        writeln!(f, "-- loses    table {}: {rows}", in_line(name))?;
    }
    if let Some(more @ 1..) = replaced.tables.len().checked_sub(TABLES_MAX) {
        writeln!(f, "-- loses    {more} more tables")?;
    }
    match &replaced.unread {
        Some(why) => writeln!(f, "-- loses    unknown content: {}", in_line(why)),
        None => Ok(()),
    }
}

/// Returns a statement with a semicolon after it, outside of any comment at its end.
fn ended(sql: &str) -> String {
    match token::tokens(sql).last() {
        Some(last) if last.is_comment() && last.at.end == sql.len() => format!("{sql}\n;"),
        _ => format!("{sql};"),
    }
}

/// Returns a name for a comment, without line breaks, which would end the comment.
fn in_line(name: &(impl fmt::Display + ?Sized)) -> String {
    name.to_string().replace(['\n', '\r'], "\u{fffd}")
}

/// Formats the plan as a schema file, with comments for other text.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.target {
            Some(target) if self.existing.is_some() => {
                writeln!(f, "-- target   {} (existing)", in_line(&target.name().display()))?;
            }
            Some(target) if self.replaces => {
                writeln!(f, "-- target   {} (replaces the old one)", in_line(&target.name().display()))?;
                self.replaced.iter().try_for_each(|replaced| write_replaced(replaced, f))?;
                if let Some(how @ Replacement::Transaction { .. }) = &self.replacement {
                    writeln!(f, "-- replaced {}", in_line(how))?;
                }
            }
            Some(target) => writeln!(f, "-- target   {} (new)", in_line(&target.name().display()))?,
            None => writeln!(f, "-- target   none: pages are made and thrown away")?,
        }
        if let Some(existing) = &self.existing {
            existing.write(f, self.page_bytes)?;
        }
        match (self.estimated_bytes, &self.existing) {
            (Some(bytes), None) => writeln!(f, "-- size     about {:.1}", Bytes(bytes))?,
            (Some(bytes), Some(_)) => writeln!(f, "-- growth   about {:.1}", Bytes(bytes))?,
            (None, _) => {}
        }
        let (page_bytes, pages) = (self.page_bytes, self.chunk_bytes / self.page_bytes);
        writeln!(f, "-- pages    of {page_bytes} bytes, {pages} at a time")?;
        let (threads, bytes) = (self.threads, self.buffer_bytes);
        writeln!(f, "-- threads  {threads} and a writer, {bytes} bytes of buffers")?;
        if self.sort_bytes > 0 {
            let folder = self.temp_dir.as_ref().map(|folder| in_line(&folder.display()));
            let folder = folder.unwrap_or("the folder of the target".to_owned());
            writeln!(
                f,
                "-- sorting  in {} bytes of them; what does not fit goes to {folder}",
                self.sort_bytes
            )?;
        }
        if let Some(ExistingPlan { upsert, .. }) =
            self.existing.as_ref().filter(|existing| !existing.upsert.is_empty())
        {
            writeln!(f, "-- key      {}", in_line(&upsert.join(", ")))?;
        }
        match self.on_conflict {
            OnConflict::Abort => {}
            OnConflict::Ignore => writeln!(f, "-- conflict a row whose key exists already is left out")?,
            OnConflict::Replace => writeln!(f, "-- conflict an earlier row with the same key is left out")?,
        }
        if self.analyze {
            writeln!(f, "-- analyze  at the end")?;
        }
        for note in &self.notes {
            writeln!(f, "-- note     {}", in_line(note))?;
        }
        for line in left_out_in_words(&self.left_out) {
            writeln!(f, "-- left out {}", in_line(&line))?;
        }
        for table in &self.tables {
            table.write_sources(f)?;
            if let Some(words) = table.action.words() {
                writeln!(f, "--   exists {words}")?;
            }
            writeln!(f, "--   path   {}: {}", table.write_path.name(), in_line(&table.why))?;
            table.first_rows.iter().try_for_each(|row| writeln!(f, "--   {}", in_line(row)))?;
            writeln!(f, "{}", ended(&table.sql))?;
            table.alter.iter().try_for_each(|sql| writeln!(f, "{}", ended(sql)))?;
            for index in &table.indexes {
                writeln!(f, "-- index    {}", in_line(&index.name))?;
                writeln!(f, "--   path   {}: {}", index.write_path.name(), in_line(&index.why))?;
                index.sql.iter().try_for_each(|sql| writeln!(f, "{}", ended(sql)))?;
            }
        }
        self.others.iter().try_for_each(|sql| writeln!(f, "{}", ended(sql)))
    }
}
