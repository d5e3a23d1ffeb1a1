//! The limit of open files: Windows has none.

pub(crate) fn allow(_wanted: u64) -> u64 {
    u64::MAX
}
