//! Reads properties of this process from `/proc`: ignored signals, the umask, and its memory.

/// Returns a field of /proc/self/status as text, or `None` if the field is missing.
pub(super) fn status(name: &str) -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(value.trim().to_owned())
}

/// Returns `true` if the parent process set `signal` to be ignored, as nohup does for SIGHUP.
pub(crate) fn is_ignored(signal: i32) -> bool {
    status("SigIgn")
        .and_then(|mask| u64::from_str_radix(&mask, 16).ok())
        .is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Returns the mode bits that new files lack. The call `umask` is no alternative, because it changes the mask for all threads.
pub(crate) fn umask() -> Option<u32> {
    u32::from_str_radix(&status("Umask")?, 8).ok()
}
