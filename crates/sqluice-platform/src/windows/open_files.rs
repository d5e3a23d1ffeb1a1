//! Windows limits no files of a process.

pub(crate) fn allow(_wanted: u64) -> u64 {
    u64::MAX
}
