//! Reads properties of the machine from `/proc`.

use std::fs;
use std::path::Path;

use crate::answers::Machine;

pub(crate) fn here() -> Machine {
    let memory = field(&read("/proc/meminfo"), "MemTotal");
    let kib: Option<u64> = memory.and_then(|memory| memory.split(' ').next()?.parse().ok());
    Machine {
        cpu: field(&read("/proc/cpuinfo"), "model name"),
        memory_bytes: kib.map(|kib| kib * 1024),
        kernel: format!(
            "{} {}",
            read("/proc/sys/kernel/ostype").trim(),
            read("/proc/sys/kernel/osrelease").trim()
        ),
        load: read("/proc/loadavg").split(' ').next().and_then(|load| load.parse().ok()),
    }
}

pub(crate) fn mount(folder: &Path) -> Option<(String, String)> {
    mount_in(&read("/proc/self/mountinfo"), folder)
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// Returns the value of the first line of the form `name : value`.
fn field(text: &str, name: &str) -> Option<String> {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let value = lines.map(|(key, value)| (key.trim(), value.trim())).find(|(key, _)| *key == name);
    value.map(|(_, value)| value.to_owned())
}

/// Returns the type of the file system that contains `folder`, and its device, from the content of /proc/self/mountinfo. Of all mount
/// points above the folder, the deepest one counts; of several mounts at this point, the last one.
fn mount_in(mountinfo: &str, folder: &Path) -> Option<(String, String)> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let mounts = mountinfo.lines().filter_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let point = Path::new(place.split(' ').nth(4)?);
        let mut kind = kind.split(' ');
        folder.starts_with(point).then_some((point.components().count(), kind.next()?, kind.next()?))
    });
    let best = mounts.max_by_key(|(depth, ..)| *depth);
    best.map(|(_, kind, device)| (kind.to_owned(), device.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_on_the_deepest_mount_above_it() {
        let text = "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 8:2 / /nowhere rw shared:1 - xfs /dev/b rw\n";
        let found = |kind: &str, device: &str| Some((kind.to_owned(), device.to_owned()));
        assert_eq!(mount_in(text, Path::new("/nowhere/x")), found("xfs", "/dev/b"));
        assert_eq!(mount_in(text, Path::new("/nowhereelse")), found("ext4", "/dev/a"));
        assert_eq!(mount_in("", Path::new("/x")), None);
    }
}
