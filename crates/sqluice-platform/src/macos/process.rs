//! What the kernel says of this process.

/// Whether the parent process wants `signal` ignored, as nohup does with SIGHUP.
pub(crate) fn is_ignored(signal: i32) -> bool {
    // SAFETY: zeros are a valid action, which the call overwrites; no handler is set, for the new action is null.
    #[allow(unsafe_code, reason = "no safe call exists")]
    let (asked, action) = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        (libc::sigaction(signal, std::ptr::null(), &raw mut action), action)
    };
    asked == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// Bits that new files lack. To ask by `umask` would change it for all threads, and no other call exists.
pub(crate) fn umask() -> Option<u32> {
    None
}
