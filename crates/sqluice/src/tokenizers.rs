//! Tokenizers that the calling program provides for full-text tables (FTS5), in addition to SQLite's own.
//!
//! A tokenizer that is registered here splits texts for all connections that the process opens afterwards: those of this crate, which
//! index texts on all cores, and those of the program itself, which search. Another program can use the database only if it has a tokenizer
//! of this name, too.
//!
//! ```
//! use sqluice::error::Result;
//! use sqluice::tokenizers::{Purpose, Token, Tokenize, register};
//!
//! /// Splits texts at commas, and finds `colour` as `color`, too.
//! struct Tags;
//!
//! impl Tokenize for Tags {
//!     fn tokenize(&self, text: &[u8], purpose: Purpose, token: &mut dyn FnMut(Token<'_>)) -> Result<()> {
//!         let mut start = 0;
//!         for tag in text.split(|byte| *byte == b',') {
//!             let end = start + tag.len();
//!             let term = tag.trim_ascii().to_ascii_lowercase();
//!             token(Token { term: &term, start, end, is_colocated: false });
//!             // A synonym is indexed with the row, so a query needs none.
//!             if term == b"colour" && purpose == Purpose::Document {
//!                 token(Token { term: b"color", start, end, is_colocated: true });
//!             }
//!             start = end + 1;
//!         }
//!         Ok(())
//!     }
//! }
//!
//! # fn main() -> Result<()> {
//! register("tags", |_arguments| Ok(Tags))?;
//! # let folder = tempfile::tempdir().unwrap();
//! # let db = folder.path().join("pictures.db");
//! # let connection = rusqlite::Connection::open(&db).unwrap();
//! # connection.execute_batch("CREATE TABLE pictures (tags); INSERT INTO pictures VALUES ('Sea, colour'), ('sky')").unwrap();
//! use sqluice::index::{FullText, Index};
//!
//! let full_text = FullText::new(["pictures(tags)"]).tokenize("tags".to_owned());
//! Index::new(&db, [""; 0]).full_text(full_text).run()?;
//! # let found = "SELECT rowid FROM pictures_fts WHERE pictures_fts MATCH 'color'";
//! # assert_eq!(connection.query_row(found, [], |row| row.get::<_, i64>(0)).unwrap(), 1);
//! # Ok(())
//! # }
//! ```

pub use sqluice_engine::full_text::registered::{Purpose, Token, Tokenize, register};
