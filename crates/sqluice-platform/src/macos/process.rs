//! Reads properties of this process from the kernel: ignored signals.

/// Returns `true` if the parent process set `signal` to be ignored, as nohup does for SIGHUP.
pub(crate) fn is_ignored(signal: i32) -> bool {
    // SAFETY: zeros are a valid action, which the call overwrites; no handler is set, for the new action is null.
    #[allow(unsafe_code, reason = "no safe call exists")]
    let (asked, action) = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        (libc::sigaction(signal, std::ptr::null(), &raw mut action), action)
    };
    asked == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// Returns `None`: the call `umask` would change the mask for all threads, and no other call returns it.
pub(crate) fn umask() -> Option<u32> {
    None
}
