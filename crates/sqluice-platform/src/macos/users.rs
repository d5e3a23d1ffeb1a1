//! Finds the processes that have a file open, by the descriptors that `libproc` lists.

use std::ffi::CStr;
use std::path::Path;

use crate::answers::{Identity, Unseen, User, Users};

/// The request for the file of a descriptor (`PROC_PIDFDVNODEINFO` of `libproc.h`).
const FILE_OF_DESCRIPTOR: i32 = 1;

/// The answer to [`FILE_OF_DESCRIPTOR`]: `struct vnode_fdinfo`.
#[repr(C)]
struct FileOfDescriptor {
    /// The `struct proc_fileinfo`: flags, status, offset, type and guards of the descriptor.
    _descriptor: [u64; 3],
    file: libc::vnode_info,
}

pub(crate) fn find(path: &Path, identity: Identity) -> Users {
    let own = std::process::id().cast_signed();
    let others = processes().into_iter().filter(|process| *process != own);
    let seen = others.flat_map(|process| {
        let user = move |descriptor: i32| User {
            process: process.cast_unsigned(),
            descriptor: descriptor.cast_unsigned(),
            name: format!("process {process} ({})", name(process)),
        };
        descriptors(process, identity).into_iter().map(user)
    });
    Users { seen: seen.collect(), unseen: hidden(path) }
}

/// Returns the reason why a process that has the file open may be overlooked, if any.
fn hidden(path: &Path) -> Option<Unseen> {
    let is_local = rustix::fs::statfs(path).is_ok_and(|about| about.f_flags & libc::MNT_LOCAL as u32 != 0);
    match is_local {
        false => Some(Unseen::Machines),
        true if rustix::process::geteuid().is_root() => None,
        true => Some(Unseen::Processes("processes of other users cannot be looked at")),
    }
}

/// Returns the ids of all processes.
fn processes() -> Vec<i32> {
    list(|buffer, bytes| {
        // SAFETY: the call writes at most `bytes` bytes to the buffer, or returns a number if it is null.
        #[allow(unsafe_code, reason = "no safe call exists")]
        unsafe {
            // The call returns a number of processes, not of bytes.
            libc::proc_listallpids(buffer, bytes) * size_of::<i32>() as i32
        }
    })
}

/// Returns the descriptors with which a process has open the file that has this identity.
fn descriptors(process: i32, identity: Identity) -> Vec<i32> {
    let descriptors: Vec<libc::proc_fdinfo> = list(|buffer, bytes| {
        // SAFETY: the call writes at most `bytes` bytes to the buffer, or returns a number if it is null.
        #[allow(unsafe_code, reason = "no safe call exists")]
        unsafe {
            libc::proc_pidinfo(process, libc::PROC_PIDLISTFDS, 0, buffer, bytes)
        }
    });
    let files = descriptors.iter().filter(|open| open.proc_fdtype == libc::PROX_FDTYPE_VNODE.cast_unsigned());
    files
        .map(|open| open.proc_fd)
        .filter(|descriptor| file_of(process, *descriptor) == Some(identity))
        .collect()
}

fn file_of(process: i32, descriptor: i32) -> Option<Identity> {
    let bytes = size_of::<FileOfDescriptor>() as i32;
    // SAFETY: zeros are valid for the structure, of which the call overwrites at most `bytes` bytes.
    #[allow(unsafe_code, reason = "no safe call exists")]
    let (read, about) = unsafe {
        let mut about: FileOfDescriptor = std::mem::zeroed();
        let into = (&raw mut about).cast();
        (libc::proc_pidfdinfo(process, descriptor, FILE_OF_DESCRIPTOR, into, bytes), about)
    };
    let file = about.file.vi_stat;
    // `stat` returns a signed device number, so this one is extended with its sign, too.
    let device = file.vst_dev.cast_signed() as u64;
    (read == bytes).then_some(Identity { device, number: file.vst_ino })
}

/// Returns a list that the system writes to a buffer. `ask` passes the buffer and its size to the system, and returns the number of bytes
/// written; for a null buffer, it returns the number of bytes needed.
fn list<T>(ask: impl Fn(*mut libc::c_void, i32) -> i32) -> Vec<T> {
    let wanted = usize::try_from(ask(std::ptr::null_mut(), 0)).unwrap_or(0) / size_of::<T>();
    // The list may grow between the calls.
    let mut items = Vec::<T>::with_capacity(wanted + 16);
    let room = i32::try_from(items.capacity() * size_of::<T>()).unwrap_or(0);
    let bytes = usize::try_from(ask(items.as_mut_ptr().cast(), room)).unwrap_or(0);
    let written = (bytes / size_of::<T>()).min(items.capacity());
    // SAFETY: the system has written that many items, which are plain numbers.
    #[allow(unsafe_code, reason = "no safe call exists")]
    unsafe {
        items.set_len(written);
    }
    items
}

/// Returns the name of a process; an empty string if the system does not tell it.
fn name(process: i32) -> String {
    let mut name = [0u8; 64];
    // SAFETY: the call writes at most the given number of bytes.
    #[allow(unsafe_code, reason = "no safe call exists")]
    unsafe {
        libc::proc_name(process, name.as_mut_ptr().cast(), name.len() as u32);
    }
    CStr::from_bytes_until_nul(&name).map_or(String::new(), |name| name.to_string_lossy().into_owned())
}
