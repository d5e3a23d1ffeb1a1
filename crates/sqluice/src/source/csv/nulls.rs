//! Which fields are NULL.

use crate::batch::Span;

/// Texts that stand for NULL where they are not quoted.
#[derive(Clone, Debug, Default)]
pub(super) struct NullTokens {
    tokens: Vec<Vec<u8>>,
    /// A bit for every length of a token; the last for that and all beyond.
    lengths: u64,
    quote: Option<u8>,
}

impl NullTokens {
    pub(super) fn new(mut tokens: Vec<Vec<u8>>, empty_as_text: bool, quote: Option<u8>) -> NullTokens {
        if !empty_as_text {
            tokens.push(Vec::new());
        }
        let lengths = tokens.iter().fold(0, |lengths, token| lengths | 1 << token.len().min(63));
        NullTokens { tokens, lengths, quote }
    }

    /// Sets the bits of the rows whose field is not NULL; whether there are others. `raw_bytes` of `data` are input, what
    /// follows was quoted.
    pub(super) fn mark_present(
        &self,
        data: &[u8],
        raw_bytes: usize,
        spans: &[Span],
        validity: &mut [u64],
    ) -> bool {
        match &self.tokens[..] {
            [] => false,
            // An empty field that is not quoted has the span of nothing.
            [empty] if empty.is_empty() => mark(spans, validity, |span| span != Span::default()),
            _ => mark(spans, validity, |span| !self.is_null(&data[..raw_bytes], span)),
        }
    }

    #[inline]
    fn is_null(&self, input: &[u8], span: Span) -> bool {
        let (start, len) = (span.start as usize, span.len as usize);
        if self.lengths >> len.min(63) & 1 == 0 {
            return false;
        }
        if len == 0 {
            return span == Span::default();
        }
        let quoted = start >= input.len() || start > 0 && Some(input[start - 1]) == self.quote;
        !quoted && self.tokens.iter().any(|token| token[..] == input[start..start + len])
    }
}

fn mark(spans: &[Span], validity: &mut [u64], is_present: impl Fn(Span) -> bool) -> bool {
    let mut nulls = false;
    for (spans, word) in spans.chunks(64).zip(validity) {
        let present =
            spans.iter().enumerate().fold(0, |word, (bit, &span)| word | u64::from(is_present(span)) << bit);
        *word = present;
        nulls |= present.count_ones() as usize != spans.len();
    }
    nulls
}
