//! The terms of a text: its tokens, and the terms of each token in the indexes of a table.

use sqluice_core::error::Result;
use sqluice_core::sqlite_error::failed;
use sqluice_format::fts5::{TOKEN_BYTES_MAX, prefix_bytes};

use super::tokenizer::Tokenizer;

/// Calls `each` with each token of a text, as long as FTS5 stores it, and with its position. Returns the number of positions.
///
/// # Errors
/// If the tokenizer fails.
#[inline]
pub(super) fn each_token(
    tokenizer: &mut Tokenizer,
    text: &[u8],
    mut each: impl FnMut(&[u8], u32),
) -> Result<u32> {
    let mut size = 0_u32;
    let each = &mut |token: &[u8], is_colocated: bool| {
        // The first token of a text has a position, even if it says that it has that of the token before.
        if !is_colocated || size == 0 {
            size += 1;
        }
        each(&token[..token.len().min(TOKEN_BYTES_MAX)], size - 1);
    };
    tokenizer.tokenize(text, each).map_err(|error| failed(error, "split a text into tokens"))?;
    Ok(size)
}

/// Returns the number of bytes of the term of a token in an index: the whole token in index 0, and the first characters in the index of a
/// prefix. Returns `None` if the token is shorter than the prefix.
#[inline]
pub(super) fn term_bytes(prefixes: &[usize], index: usize, token: &[u8]) -> Option<usize> {
    match index.checked_sub(1) {
        None => Some(token.len()),
        Some(prefix) => prefix_bytes(token, prefixes[prefix]),
    }
}
