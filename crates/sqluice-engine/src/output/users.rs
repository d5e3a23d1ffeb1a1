//! Processes that have a file open, as far as `/proc` lists them.
//!
//! A connection that is idle in rollback mode holds no lock, so SQLite can't see it. Once its file has lost its name, it
//! takes the journal of the new file, which has the name that it knows, for its own, rolls it back into the old file and
//! removes it: a process that writes to the new one is then without a journal. So it is looked for as `lsof` does.
//!
//! Processes of others, unless we are root, of other containers and of other machines are not seen, and on systems
//! without `/proc` none is.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Identifies a file independently of its name: the device and the inode.
pub(super) type Identity = (u64, u64);

/// Says which other process has the file at `path` open.
pub(super) fn find(path: &Path, identity: Identity) -> Option<String> {
    let name = path.file_name()?;
    let own = std::process::id().to_string();
    for process in fs::read_dir("/proc").ok()?.flatten() {
        let id = process.file_name().into_string().unwrap_or_default();
        if id.bytes().all(|byte| byte.is_ascii_digit())
            && id != own
            && has_open(&process.path(), name, identity)
        {
            let command = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            return Some(format!("process {id} ({}) has it open", command.trim_end()));
        }
    }
    None
}

fn has_open(process: &Path, name: &OsStr, identity: Identity) -> bool {
    let Ok(descriptors) = fs::read_dir(process.join("fd")) else { return false };
    descriptors.flatten().map(|entry| entry.path()).any(|descriptor| {
        // The name first: to look at a file may take for ever when its server is gone.
        fs::read_link(&descriptor).is_ok_and(|to| to.file_name() == Some(name))
            && fs::metadata(&descriptor).is_ok_and(|file| (file.dev(), file.ino()) == identity)
    })
}
