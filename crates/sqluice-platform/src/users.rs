//! The processes that have a file open, as far as this process may see them.
//!
//! | system | method | not seen |
//! |---|---|---|
//! | Linux | `/proc`, like `lsof` | processes of other users, unless we are root, and processes outside our container |
//! | macOS | `libproc`, like `lsof` | processes of other users, unless we are root |
//! | Windows | the Restart Manager | none on this machine; an open file can't be replaced anyway |
//!
//! Processes of other machines are never seen. [`Users::unseen`] is the reason why a user may have been overlooked.

use std::path::Path;

use crate::answers::Identity;
pub use crate::answers::{Unseen, User, Users};
use crate::system;

/// Finds the other processes that have open the file with this identity, which is or was at `path`.
pub fn find(path: &Path, identity: Identity) -> Users {
    system::users::find(path, identity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity;

    #[test]
    fn a_file_that_no_other_process_has_open_has_no_users() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let users = find(file.path(), identity::of_path(file.path()).unwrap());
        assert_eq!(users.seen, [], "our own descriptor does not count");
    }

    #[test]
    #[cfg(target_os = "linux")] // `tail` holds a file open.
    fn a_process_that_has_a_file_open_is_found_even_after_the_file_was_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        std::fs::write(&path, "x").unwrap();
        let identity = identity::of_path(&path).unwrap();
        let mut other = std::process::Command::new("tail").args(["-f"]).arg(&path).spawn().unwrap();
        let started = std::time::Instant::now();
        let seen = || find(&path, identity).seen.first().map(|user| user.name.clone());
        while seen().is_none() && started.elapsed().as_secs() < 20 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let expected = Some(format!("process {} (tail)", other.id()));
        let with_name = seen();
        std::fs::remove_file(&path).unwrap();
        let without_name = seen();
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!((with_name, without_name), (expected.clone(), expected));
    }
}
