//! Finds the processes that have a file open, by the descriptors that `/proc` lists.

use std::ffi::OsStr;
use std::path::Path;
use std::{fs, io};

use crate::answers::{Identity, Unseen, User, Users};
use crate::unix::identity;

/// The process namespace of the entire machine (`PROC_PID_INIT_INO` of the kernel).
const WHOLE_MACHINE: &str = "pid:[4026531836]";

/// The numbers of file systems that other machines, or the host of a virtual machine, may share (`statfs(2)`): NFS, SMB (two versions),
/// CIFS, FUSE, 9P, Ceph, AFS (two versions), Coda, GFS2, OCFS2, Lustre, GPFS, VirtualBox, VMware.
const SHARED: [u32; 16] = [
    0x6969,
    0x517b,
    0xfe53_4d42,
    0xff53_4d42,
    0x6573_5546,
    0x0102_1997,
    0x00c3_6400,
    0x5346_414f,
    0x6b41_4653,
    0x7375_7245,
    0x0116_1970,
    0x7461_636f,
    0x0bd0_0bd0,
    0x4750_4653,
    0x786f_4256,
    0xbacb_acbc,
];

pub(crate) fn find(path: &Path, identity: Identity) -> Users {
    let mut users = Users { seen: Vec::new(), unseen: hidden(path) };
    let (Some(name), Ok(processes)) = (path.file_name(), fs::read_dir("/proc")) else { return users };
    let own = std::process::id();
    for process in processes.flatten() {
        let id = process.file_name().to_str().and_then(|id| id.parse::<u32>().ok());
        let Some(id) = id.filter(|id| *id != own) else { continue };
        match descriptors(&process.path(), name, identity) {
            Ok(descriptors) if descriptors.is_empty() => {}
            Ok(descriptors) => {
                let command = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
                let name = format!("process {id} ({})", command.trim_end());
                let user = |descriptor| User { process: id, descriptor, name: name.clone() };
                users.seen.extend(descriptors.into_iter().map(user));
            }
            // The first process only starts others and has no database open.
            Err(_) if id == 1 => {}
            Err(_) => {
                let why = "processes of other users cannot be looked at";
                users.unseen = users.unseen.or(Some(Unseen::Processes(why)));
            }
        }
    }
    users
}

/// Returns the reason why `/proc` may not list all users of a file: some processes are hidden, or other machines share the file system.
/// Returns `None` if there is no such reason.
fn hidden(path: &Path) -> Option<Unseen> {
    // The constants have different types on different processors.
    #[allow(clippy::cast_possible_truncation, clippy::unnecessary_cast, reason = "the numbers have 32 bits")]
    let shared = rustix::fs::statfs(path).is_ok_and(|about| SHARED.contains(&(about.f_type as u32)));
    match fs::read_link("/proc/self/ns/pid") {
        _ if shared => Some(Unseen::Machines),
        Err(_) => Some(Unseen::Processes("/proc does not show which processes run")),
        Ok(namespace) if namespace.as_os_str() != WHOLE_MACHINE => {
            Some(Unseen::Processes("processes outside of this container are not seen"))
        }
        Ok(_) if !Path::new("/proc/1").exists() => Some(Unseen::Processes("/proc hides processes of others")),
        Ok(_) => None,
    }
}

/// Returns the descriptors with which a process has open the file that has this identity and this name.
///
/// # Errors
/// When the process can't be inspected.
fn descriptors(process: &Path, name: &OsStr, identity: Identity) -> io::Result<Vec<u32>> {
    let listed = match fs::read_dir(process.join("fd")) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error),
        // The process has ended.
        Err(_) => return Ok(Vec::new()),
        Ok(listed) => listed,
    };
    let mut found = Vec::new();
    for entry in listed.flatten() {
        let link = entry.path();
        match fs::read_link(&link) {
            // The name is compared first, because inspecting a file may hang if its server is gone.
            Ok(to) if is_named(&to, name) && identity::of_path(&link).is_ok_and(|file| file == identity) => {
                found.extend(entry.file_name().to_str().and_then(|number| number.parse::<u32>().ok()));
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error),
            _ => {}
        }
    }
    Ok(found)
}

/// Returns `true` if a link of `/proc` leads to a file that has this name, or had the name before the file was deleted.
fn is_named(link: &Path, name: &OsStr) -> bool {
    let Some(file_name) = link.file_name().map(OsStr::as_encoded_bytes) else { return false };
    let name = name.as_encoded_bytes();
    file_name == name || file_name.strip_suffix(b" (deleted)") == Some(name)
}
