//! Recognises the fields that are NULL: empty fields, tokens such as `NA`, and missing fields.

use sqluice_core::batch::Span;

/// The unquoted texts that stand for NULL.
#[derive(Clone, Debug, Default)]
pub(super) struct NullTokens {
    tokens: Vec<Vec<u8>>,
    /// A bit for each length of a token; the last bit stands for 63 bytes and more.
    lengths: u64,
    quote: Option<u8>,
    /// `true` if fields may be missing.
    pads: bool,
}

impl NullTokens {
    pub(super) fn new(mut tokens: Vec<Vec<u8>>, empty_as_text: bool, quote: Option<u8>) -> NullTokens {
        if !empty_as_text {
            tokens.push(Vec::new());
        }
        let lengths = tokens.iter().fold(0, |lengths, token| lengths | 1 << token.len().min(63));
        NullTokens { tokens, lengths, quote, pads: false }
    }

    /// Makes fields that are missing at the end of a record NULL if `pads` is `true`.
    pub(super) fn with_missing(mut self, pads: bool) -> NullTokens {
        self.pads = pads;
        self
    }

    /// Returns the span of a missing field, if fields may be missing: the span of an unquoted empty field if such a field is NULL anyway,
    /// or else the empty span at the end of the input, which no other field has.
    pub(super) fn missing(&self, raw_bytes: usize) -> Option<Span> {
        let empty_is_null = self.tokens.iter().any(Vec::is_empty);
        // The position fits 32 bits, because a part is shorter than 4 GiB.
        let end = Span { start: raw_bytes as u32, len: 0 };
        self.pads.then_some(if empty_is_null { Span::default() } else { end })
    }

    /// Returns `true` if at least one field of a column is NULL. Then also sets the bits in `validity` of the rows whose field is not NULL.
    /// The first `raw_bytes` of `data` are input; unescaped text, which is never NULL, follows.
    pub(super) fn mark_present(
        &self,
        data: &[u8],
        raw_bytes: usize,
        spans: &[Span],
        validity: &mut [u64],
    ) -> bool {
        match &self.tokens[..] {
            [] => match self.missing(raw_bytes) {
                Some(missing) => mark(spans, validity, |span| span != missing),
                None => false,
            },
            // An unquoted empty field has the default span.
            [empty] if empty.is_empty() => mark(spans, validity, |span| span != Span::default()),
            _ => mark(spans, validity, |span| !self.is_null(&data[..raw_bytes], span)),
        }
    }

    #[inline]
    fn is_null(&self, input: &[u8], span: Span) -> bool {
        let (start, len) = (span.start as usize, span.len as usize);
        if len == 0 && self.pads && start == input.len() {
            return true;
        }
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
    // Most columns have no NULL, and looking for NULLs costs less than setting bits.
    let some_null = |spans: &[Span]| spans.iter().fold(false, |null, &span| null | !is_present(span));
    if !spans.chunks(64).any(some_null) {
        return false;
    }
    for (spans, word) in spans.chunks(64).zip(validity) {
        *word =
            spans.iter().enumerate().fold(0, |word, (bit, &span)| word | u64::from(is_present(span)) << bit);
    }
    true
}
