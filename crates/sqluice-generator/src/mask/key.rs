//! The secret key of a masked copy, and the keys that are derived from it.
//!
//! ```text
//!  key file, or 32 random bytes ──> SHA-256(label, key) ──> a key for each purpose
//! ```
//!
//! Invariant: no message, plan or report shows a key, or anything from which a key can be computed.

use std::fmt;

use sha2::{Digest, Sha256};
use sqluice_core::error::{Error, Result};

use super::siphash::SipKey;
use crate::random::Key;

/// The secret key of a masked copy. The same key gives the same masks.
#[derive(Clone)]
pub struct MaskKey {
    secret: Vec<u8>,
    is_random: bool,
}

impl MaskKey {
    /// The minimum length of a key, in bytes.
    pub const BYTES_MIN: usize = 16;

    /// Creates a key from random bytes of the operating system. The key is not stored.
    ///
    /// # Errors
    /// When the operating system provides no random bytes.
    pub fn random() -> Result<MaskKey> {
        let mut secret = vec![0; 32];
        match getrandom::fill(&mut secret) {
            Ok(()) => Ok(MaskKey { secret, is_random: true }),
            Err(error) => Err(Error::input("the system gives no random bytes for a key").because(error)),
        }
    }

    /// Creates a key from `bytes`; `None` if there are fewer than [`MaskKey::BYTES_MIN`].
    pub fn new(bytes: impl Into<Vec<u8>>) -> Option<MaskKey> {
        let secret = bytes.into();
        (secret.len() >= MaskKey::BYTES_MIN).then_some(MaskKey { secret, is_random: false })
    }

    /// Returns `true` if the key is random and will not be stored.
    pub fn is_random(&self) -> bool {
        self.is_random
    }

    /// Derives the key for the purpose `label`.
    pub(super) fn derived(&self, label: &str) -> SipKey {
        let digest = self.digest(label);
        SipKey::new(std::array::from_fn(|at| digest[at]))
    }

    /// Derives the key of a random generator for the purpose `label`.
    pub(super) fn stream(&self, label: &str) -> Key {
        let digest = self.digest(label);
        Key::of_word(u64::from_le_bytes(std::array::from_fn(|at| digest[at])))
    }

    fn digest(&self, label: &str) -> [u8; 32] {
        let mut hash = Sha256::new();
        // The length of the label comes first, so that no other label and secret give the same bytes.
        hash.update((label.len() as u64).to_le_bytes());
        hash.update(label.as_bytes());
        hash.update(&self.secret);
        hash.finalize().into()
    }
}

impl fmt::Debug for MaskKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_random { "a random key" } else { "a key of the user's" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_keys_are_refused_and_debug_output_hides_the_key() {
        assert!(MaskKey::new("0123456789abcde").is_none());
        let key = MaskKey::new("0123456789abcdef").unwrap();
        assert!(!format!("{key:?}").contains("0123"));
        assert!(MaskKey::random().unwrap().is_random() && !key.is_random());
    }

    #[test]
    fn keys_derived_for_different_purposes_or_from_different_secrets_differ() {
        let keys = ["0123456789abcdef", "0123456789abcdeg"].map(|secret| MaskKey::new(secret).unwrap());
        let all = keys.iter().flat_map(|key| ["a", "b", "ab"].map(|label| key.derived(label).hash(b"x")));
        let mut all: Vec<u64> = all.collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 6);
        assert_eq!(keys[0].derived("a").hash(b"x"), keys[0].clone().derived("a").hash(b"x"));
    }
}
