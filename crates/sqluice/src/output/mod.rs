//! Where pages go.

mod leftover;
mod new_file;

pub use new_file::NewFile;

use crate::error::Result;

/// Takes finished pages in the order of their numbers; page 1 comes last.
pub trait Output: Send {
    /// Writes whole pages from byte `offset` of the file on. The slices follow each other there.
    ///
    /// # Errors
    /// When they can't be written. Nothing may follow then but dropping the output, which leaves things as they were.
    fn write(&mut self, offset: u64, pages: &[&[u8]]) -> Result<()>;

    /// Makes what was written durable, and the target.
    ///
    /// # Errors
    /// When it can't be: things are as they were, then.
    fn commit(self: Box<Self>) -> Result<()>;

    /// How pages get to the disk, for the report.
    fn describe(&self) -> &'static str;
}

/// Takes pages and forgets them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Discard;

impl Output for Discard {
    fn write(&mut self, _: u64, _: &[&[u8]]) -> Result<()> {
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<()> {
        Ok(())
    }

    fn describe(&self) -> &'static str {
        "discarded"
    }
}
