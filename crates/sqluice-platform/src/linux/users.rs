//! Processes and their descriptors, as `/proc` lists them.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use crate::answers::Identity;
use crate::unix::identity;

pub(crate) fn find(path: &Path, identity: Identity) -> Option<String> {
    let name = path.file_name()?;
    let own = std::process::id().to_string();
    for process in fs::read_dir("/proc").ok()?.flatten() {
        let id = process.file_name().into_string().unwrap_or_default();
        if id.bytes().all(|byte| byte.is_ascii_digit())
            && id != own
            && has_open(&process.path(), name, identity)
        {
            let command = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            return Some(format!("process {id} ({})", command.trim_end()));
        }
    }
    None
}

fn has_open(process: &Path, name: &OsStr, identity: Identity) -> bool {
    let Ok(descriptors) = fs::read_dir(process.join("fd")) else { return false };
    descriptors.flatten().map(|entry| entry.path()).any(|descriptor| {
        // The name first: to look at a file may take for ever when its server is gone.
        fs::read_link(&descriptor).is_ok_and(|to| to.file_name() == Some(name))
            && identity::of_path(&descriptor).is_ok_and(|file| file == identity)
    })
}
