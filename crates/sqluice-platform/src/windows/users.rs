//! The processes that have a file open, from the Restart Manager, which lists them for installers.

use std::path::Path;

use windows_sys::Win32::Foundation::{ERROR_MORE_DATA, ERROR_SUCCESS};
use windows_sys::Win32::System::RestartManager::{
    CCH_RM_SESSION_KEY, RM_PROCESS_INFO, RmEndSession, RmGetList, RmRegisterResources, RmStartSession,
};

use super::machine::text;
use super::paths::wide;
use crate::answers::{Identity, User, Users};

/// The maximum number of processes in the list.
const USERS_MAX: usize = 16;

pub(crate) fn find(path: &Path, _: Identity) -> Users {
    let own = std::process::id();
    let others = users(path).unwrap_or_default().into_iter();
    let others = others.filter(|user| user.Process.dwProcessId != own).map(|user| User {
        process: user.Process.dwProcessId,
        descriptor: 0,
        name: format!("process {} ({})", user.Process.dwProcessId, text(&user.strAppName)),
    });
    // A file that another process has open can't be replaced, because the rename fails. So overlooked users do no harm.
    Users { seen: others.collect(), unseen: None }
}

fn users(path: &Path) -> Option<Vec<RM_PROCESS_INFO>> {
    let path = wide(&std::path::absolute(path).ok()?);
    let (mut session, mut key) = (0, [0; CCH_RM_SESSION_KEY as usize + 1]);
    let mut users = vec![RM_PROCESS_INFO::default(); USERS_MAX];
    let (mut needed, mut count, mut reasons) = (0, USERS_MAX as u32, 0);
    // SAFETY: the key has room for its NUL, the name ends with a NUL, and the list has the given number of items.
    #[allow(unsafe_code, reason = "no safe call exists")]
    let listed = unsafe {
        if RmStartSession(&raw mut session, 0, key.as_mut_ptr()) != ERROR_SUCCESS {
            return None;
        }
        let names = [path.as_ptr()];
        let registered =
            RmRegisterResources(session, 1, names.as_ptr(), 0, std::ptr::null(), 0, std::ptr::null());
        let listed = match registered {
            ERROR_SUCCESS => RmGetList(
                session,
                &raw mut needed,
                &raw mut count,
                users.as_mut_ptr(),
                (&raw mut reasons).cast(),
            ),
            failed => failed,
        };
        RmEndSession(session);
        listed
    };
    users.truncate(count as usize);
    (listed == ERROR_SUCCESS || listed == ERROR_MORE_DATA).then_some(users)
}
