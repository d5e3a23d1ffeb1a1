//! Workers that sum up the texts of rows: hashes of their terms, and the numbers of tokens.

use std::sync::{Mutex, PoisonError};

use sqluice_core::error::Result;
use sqluice_format::fts5::check::{Digest, TermHash};
use sqluice_format::fts5::read::parse_docsize;
use sqluice_format::fts5::{Detail, index_byte};

use crate::full_text::cell::{each_token, term_bytes};
use crate::full_text::query::TextSink;
use crate::full_text::tokenizer::Tokenizer;
use crate::full_text::{TextIndex, no_tokenizer};

/// The sums of the text.
#[derive(Default)]
pub(super) struct OfText {
    pub(super) digest: Digest,
    pub(super) rows: u64,
    pub(super) tokens: Vec<u64>,
    /// The rows whose stored sizes differ.
    pub(super) sizes: Vec<i64>,
}

/// Sums up the texts that one worker thread gets.
pub(super) struct TextDigest<'a> {
    index: &'a TextIndex,
    all: &'a Mutex<OfText>,
    tokenizer: Tokenizer,
    of_text: OfText,
    rowid: i64,
    size: Vec<u64>,
    stored: Option<Vec<u8>>,
    /// The column and the hash of each term of the row, with a detail for which a term counts once in a column or row.
    terms: Vec<(u32, TermHash)>,
}

impl<'a> TextDigest<'a> {
    pub(super) fn new(
        index: &'a TextIndex,
        empty: &Digest,
        all: &'a Mutex<OfText>,
    ) -> Result<TextDigest<'a>> {
        let tokenizer = Tokenizer::new(&index.tokenizer);
        let tokenizer = tokenizer.map_err(|error| no_tokenizer(&index.tokenizer[0], error))?;
        let tokens = vec![0; index.columns];
        let of_text = OfText { digest: empty.clone(), tokens: tokens.clone(), ..OfText::default() };
        Ok(TextDigest {
            index,
            all,
            tokenizer,
            of_text,
            rowid: 0,
            size: tokens,
            stored: None,
            terms: Vec::new(),
        })
    }

    /// Adds the terms that count once.
    fn add_terms(&mut self) {
        self.terms.sort_unstable();
        self.terms.dedup();
        for (column, hash) in self.terms.drain(..) {
            self.of_text.digest.add(self.rowid, hash.at(self.rowid, column, 0));
        }
    }
}

impl TextSink for TextDigest<'_> {
    fn begin_row(&mut self, rowid: i64) {
        self.rowid = rowid;
        self.size.fill(0);
        self.stored = None;
    }

    fn text(&mut self, column: usize, text: &[u8]) -> Result<()> {
        if column == self.index.columns {
            self.stored = Some(text.to_vec());
            return Ok(());
        }
        let TextDigest { index, tokenizer, of_text, rowid, terms, .. } = self;
        let size = each_token(tokenizer, text, |token, position| {
            for number in 0..=index.prefixes.len() {
                let Some(bytes) = term_bytes(&index.prefixes, number, token) else { continue };
                let hash = TermHash::new(index_byte(number), &token[..bytes]);
                match index.detail {
                    Detail::Full => of_text.digest.add(*rowid, hash.at(*rowid, column as u32, position)),
                    Detail::Column => terms.push((column as u32, hash)),
                    Detail::None => terms.push((0, hash)),
                }
            }
        })?;
        self.size[column] = size.into();
        Ok(())
    }

    fn end_row(&mut self) -> Result<()> {
        self.add_terms();
        let TextDigest { index, of_text, rowid, size, stored, .. } = self;
        of_text.rows += 1;
        of_text.tokens.iter_mut().zip(&*size).for_each(|(sum, size)| *sum += size);
        if index.keeps_sizes {
            let stored =
                stored.as_deref().and_then(|stored| parse_docsize(*rowid, stored, index.columns).ok());
            if stored.as_ref() != Some(size) {
                of_text.sizes.push(*rowid);
            }
        }
        Ok(())
    }

    fn end_part(&mut self) -> Result<()> {
        Ok(())
    }

    fn finish(self) -> Result<()> {
        let OfText { digest, rows, tokens, sizes } = self.of_text;
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.digest.add_all(&digest);
        all.rows += rows;
        all.tokens.iter_mut().zip(tokens).for_each(|(sum, tokens)| *sum += tokens);
        all.sizes.extend(sizes);
        Ok(())
    }
}
