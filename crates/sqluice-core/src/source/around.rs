//! Wraps a part of a source, to change its batches on their way to the sink.

use super::{Part, Quoting, Sink};
use crate::error::{Place, Result};

/// A part that `decode` decodes. All other methods are those of `part`.
struct AroundPart<D> {
    part: Box<dyn Part>,
    decode: D,
}

/// Returns a part that `decode` decodes: `decode` gets the given part and the sink, and decodes this part into a sink of its own, which
/// passes changed batches on.
pub fn decoded_by<D>(part: Box<dyn Part>, decode: D) -> Box<dyn Part>
where
    D: FnMut(&mut dyn Part, &mut dyn Sink) -> Result<()> + Send + 'static,
{
    Box::new(AroundPart { part, decode })
}

impl<D> Part for AroundPart<D>
where
    D: FnMut(&mut dyn Part, &mut dyn Sink) -> Result<()> + Send,
{
    fn first_row(&self) -> u64 {
        self.part.first_row()
    }

    fn input_bytes(&self) -> u64 {
        self.part.input_bytes()
    }

    fn place(&self) -> Option<Place> {
        self.part.place()
    }

    fn is_typed(&self) -> bool {
        self.part.is_typed()
    }

    fn quoting(&self) -> Option<Quoting> {
        self.part.quoting()
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
        (self.decode)(&mut *self.part, sink)
    }
}
