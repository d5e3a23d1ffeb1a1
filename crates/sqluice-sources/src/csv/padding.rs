//! The padding behind the text of a file: NUL bytes that fill up a block, and the Ctrl-Z with which old systems end a text.
//!
//! ```text
//!  id,name⏎1,ann⏎^Z⏎\0\0\0\0
//!                └─────────── padding: from the first NUL or Ctrl-Z behind which only NUL, Ctrl-Z and line ends follow
//! ```

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The most bytes of padding. If more such bytes follow one another, they are given as text.
const PADDING_BYTES_MAX: usize = 64 << 20;

/// A reader that leaves out the padding at the end.
pub(super) struct Unpadded<R> {
    inner: R,
    /// The bytes that were read and may be padding.
    held: Vec<u8>,
    /// The number of bytes of `held` that were already given.
    given: usize,
    /// The number of bytes of `held` that are surely text.
    text: usize,
    /// The error that ended reading, to be given after the text.
    failed: Option<io::Error>,
    /// The number of bytes that were left out.
    left_out: Arc<AtomicU64>,
}

impl<R: Read> Unpadded<R> {
    /// Returns a reader of `inner` that stores the number of padding bytes in `left_out`.
    pub(super) fn new(inner: R, left_out: Arc<AtomicU64>) -> Unpadded<R> {
        Unpadded { inner, held: Vec::new(), given: 0, text: 0, failed: None, left_out }
    }

    /// Copies text that was held back to `buffer`.
    fn give(&mut self, buffer: &mut [u8]) -> usize {
        let rest = &self.held[self.given..self.text];
        let bytes = rest.len().min(buffer.len());
        buffer[..bytes].copy_from_slice(&rest[..bytes]);
        self.given += bytes;
        if self.given == self.text {
            self.held.drain(..self.text);
            (self.given, self.text) = (0, 0);
        }
        bytes
    }
}

impl<R: Read> Read for Unpadded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if self.text > 0 {
                return Ok(self.give(buffer));
            }
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            let read = match self.inner.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
                Err(error) => {
                    // The end of the file is unknown, so the held bytes are text.
                    self.text = self.held.len();
                    self.failed = Some(error);
                    continue;
                }
                Ok(0) => {
                    self.left_out.store(self.held.len() as u64, Ordering::Relaxed);
                    return Ok(0);
                }
                Ok(read) => read,
            };
            let new = &buffer[..read];
            if self.held.is_empty() {
                match padding(new) {
                    Some(0) => self.held.extend_from_slice(new),
                    Some(begin) => {
                        self.held.extend_from_slice(&new[begin..]);
                        return Ok(begin);
                    }
                    None => return Ok(read),
                }
            } else {
                self.held.extend_from_slice(new);
                if !new.iter().all(is_padding_or_line_end) {
                    self.text = padding(&self.held).unwrap_or(self.held.len());
                } else if self.held.len() > PADDING_BYTES_MAX {
                    self.text = self.held.len();
                }
            }
        }
    }
}

/// Returns the start of the padding at the end of `text`, if there is padding.
pub(super) fn padding(text: &[u8]) -> Option<usize> {
    let begin = text.iter().rposition(|byte| !is_padding_or_line_end(byte)).map_or(0, |last| last + 1);
    let is_padding = |byte: &u8| matches!(byte, 0 | 0x1a);
    text[begin..].iter().position(is_padding).map(|at| begin + at)
}

fn is_padding_or_line_end(byte: &u8) -> bool {
    matches!(byte, 0 | 0x1a | b'\n' | b'\r')
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;
    use proptest::sample::select;

    use super::super::twins::Drip;
    use super::*;

    proptest! {
        #![proptest_config(sqluice_testkit::cases(512))]

        #[test]
        fn padding_bytes_are_left_out_only_at_the_end_of_a_file_however_the_file_is_read(
            text in prop::collection::vec(select(vec![b'a', b'\n', b'\r', 0, 0x1a]), 0..40), drip: bool,
        ) {
            let end = padding(&text).unwrap_or(text.len());
            let left_out = Arc::<AtomicU64>::default();
            let mut read = Vec::new();
            let whole: Box<dyn Read> = match drip {
                true => Box::new(Drip(Cursor::new(text.clone()), 0)),
                false => Box::new(Cursor::new(text.clone())),
            };
            Unpadded::new(whole, Arc::clone(&left_out)).read_to_end(&mut read).unwrap();
            prop_assert_eq!(&read[..], &text[..end]);
            prop_assert_eq!(left_out.load(Ordering::Relaxed), (text.len() - end) as u64);
            prop_assert!(!read.ends_with(b"\0") && !read.ends_with(b"\x1a"));
        }
    }
}
