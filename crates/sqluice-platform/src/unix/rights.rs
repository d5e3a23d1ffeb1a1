//! Permissions of files on Unix: mode, owner and group.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::Access;

/// The mode of a file that only its owner may read and write.
const PRIVATE: u32 = 0o600;

#[derive(Clone, Debug)]
pub(crate) struct Rights {
    mode: u32,
    /// The owner and the group; `None` if the owner and group of this process are kept.
    owner: Option<(u32, u32)>,
}

impl Rights {
    pub(crate) fn of(metadata: &Metadata) -> Rights {
        let owner = Some((metadata.uid(), metadata.gid()));
        Rights { mode: metadata.permissions().mode() & 0o7777, owner }
    }

    /// Returns the rights of a new file. If the umask is unknown, only the owner gets rights.
    pub(crate) fn of_new(mode: u32, umask: Option<u32>) -> Rights {
        Rights { mode: umask.map_or(PRIVATE, |umask| mode & !umask), owner: None }
    }

    pub(crate) fn has_any(&self, mode: u32) -> bool {
        self.mode & mode != 0
    }

    pub(crate) fn give(&self, to: &File) -> io::Result<()> {
        // The order matters: changing the owner clears some bits of the mode.
        if let Some((owner, group)) = self.owner
            && std::os::unix::fs::fchown(to, Some(owner), Some(group)).is_err()
        {
            let _ = std::os::unix::fs::fchown(to, None, Some(group));
        }
        to.set_permissions(Permissions::from_mode(self.mode))
    }
}

pub(crate) fn check_write(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::access(path, Access::WRITE_OK)?)
}

pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(PRIVATE)
}

pub(crate) fn may_others_open(path: &Path) -> io::Result<bool> {
    let path = fs::canonicalize(path)?;
    let me = rustix::process::geteuid().as_raw();
    // The bits of others: reading or writing the file, and entering the folders above the file.
    let steps = path.ancestors().zip(std::iter::once(0o6).chain(std::iter::repeat(0o1)));
    for (path, bits) in steps {
        let about = fs::metadata(path)?;
        let mode = about.mode();
        let is_open = ![0, me].contains(&about.uid())
            || mode & bits != 0
            || (mode & (bits << 3) != 0 && !is_of_one_user(about.gid(), me));
        if !is_open {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns `true` if a group has no member except this user and root: the group is root's, or has the name of the user and no other member.
fn is_of_one_user(group: u32, user: u32) -> bool {
    let of_system = |file| fs::read_to_string(Path::new("/etc").join(file)).unwrap_or_default();
    let (users, groups) = (of_system("passwd"), of_system("group"));
    // The fields are name:password:number:group:...
    let users: Vec<(&str, &str, &str)> = users
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(':');
            Some((fields.next()?, fields.nth(1)?, fields.next()?))
        })
        .collect();
    let (user, group) = (user.to_string(), group.to_string());
    let is_ours = |number: &str| number == "0" || number == user;
    // The fields are name:password:number:members.
    let Some((name, members)) = groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, number) = (fields.next()?, fields.nth(1)?);
        (number == group).then_some((name, fields.next().unwrap_or_default()))
    }) else {
        return false;
    };
    let number_of =
        |name: &str| users.iter().find(|(known, ..)| *known == name).map(|(_, number, _)| *number);
    (group == "0" || number_of(name).is_some_and(|number| number == user))
        && members.split(',').filter(|name| !name.is_empty()).all(|name| number_of(name).is_some_and(is_ours))
        && users.iter().all(|(_, number, of)| *of != group || is_ours(number))
}
