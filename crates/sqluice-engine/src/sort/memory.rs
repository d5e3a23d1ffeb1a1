//! How much memory the process could have.

/// Bytes of memory that the machine can give without writing anything out, or that the control group of the process may have, if that is
/// less. 0 where it is not known.
pub(super) fn available_bytes() -> u64 {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let machine = available_in(&read("/proc/meminfo")).unwrap_or(0);
    let group = group_in(&read("/proc/self/cgroup")).map(|group| format!("/sys/fs/cgroup{group}/memory.max"));
    // Within a container the group at the root is its own.
    let limits = group.into_iter().chain(["/sys/fs/cgroup/memory.max".to_owned()]);
    limits.filter_map(|limit| read(&limit).trim().parse().ok()).fold(machine, u64::min)
}

/// What /proc/meminfo says of the memory that is available.
fn available_in(meminfo: &str) -> Option<u64> {
    let kib = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(kib.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? << 10)
}

/// The control group (version 2) that /proc/self/cgroup names.
fn group_in(cgroup: &str) -> Option<&str> {
    cgroup.lines().find_map(|line| line.strip_prefix("0::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_linux_says_is_read() {
        let meminfo = "MemTotal:       24645536 kB\nMemFree:        1 kB\nMemAvailable:   23999488 kB\n";
        assert_eq!(available_in(meminfo), Some(23_999_488 << 10));
        assert_eq!(available_in("MemTotal: 1 kB\n"), None);
        assert_eq!(group_in("3:cpu:/a\n0::/user.slice/b\n"), Some("/user.slice/b"));
        if cfg!(target_os = "linux") {
            assert!(available_bytes() > 0);
        }
    }
}
