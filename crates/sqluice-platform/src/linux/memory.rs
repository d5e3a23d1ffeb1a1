//! Reads the memory of the machine and of the process from `/proc` and the control group, and gives the kernel advice.

use std::fs::{self, File};
use std::io;

use rustix::fs::Advice;
use rustix::mm::madvise;

use super::process::status;

pub(crate) fn available_bytes() -> u64 {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let machine = available_in(&read("/proc/meminfo")).unwrap_or(0);
    let group = group_in(&read("/proc/self/cgroup")).map(|group| format!("/sys/fs/cgroup{group}/memory.max"));
    // Within a container, the root group is the container's own group.
    let limits = group.into_iter().chain(["/sys/fs/cgroup/memory.max".to_owned()]);
    limits.filter_map(|limit| read(&limit).trim().parse().ok()).fold(machine, u64::min)
}

/// Returns the available memory in bytes from the content of /proc/meminfo.
fn available_in(meminfo: &str) -> Option<u64> {
    let kib = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(kib.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? << 10)
}

/// Returns the path of the control group (version 2) from the content of /proc/self/cgroup, if there is one.
fn group_in(cgroup: &str) -> Option<&str> {
    cgroup.lines().find_map(|line| line.strip_prefix("0::"))
}

pub(crate) fn advise_large<T>(vec: &mut Vec<T>) {
    /// The smallest size of a vector, in bytes, from which large pages pay off.
    const BYTES_MIN: usize = 4 << 20;
    let (start, bytes) = (vec.as_mut_ptr().cast::<u8>(), vec.capacity() * size_of::<T>());
    if bytes < BYTES_MIN {
        return;
    }
    let skipped = start.align_offset(rustix::param::page_size());
    let advice = rustix::mm::Advice::LinuxHugepage;
    // SAFETY: the range lies within the memory of the vector, and the advice changes how the kernel backs it, not what it holds.
    #[allow(unsafe_code, reason = "no safe call exists")]
    let advised = unsafe { madvise(start.add(skipped).cast(), bytes - skipped, advice) };
    // Kernels without large pages return an error.
    let _ = advised;
}

/// Returns the bytes of a field of /proc/self/status that is given in KiB, such as `VmRSS`.
fn bytes_of(name: &str) -> Option<u64> {
    let kib: u64 = status(name)?.split(' ').next()?.parse().ok()?;
    Some(kib * 1024)
}

pub(crate) fn of_process() -> Option<u64> {
    bytes_of("VmRSS")
}

pub(crate) fn peak_of_process() -> Option<u64> {
    bytes_of("VmHWM")
}

pub(crate) fn forget_peak() -> bool {
    fs::write("/proc/self/clear_refs", "5").is_ok()
}

pub(crate) fn drop_cached(file: &File) -> io::Result<()> {
    Ok(rustix::fs::fadvise(file, 0, None, Advice::DontNeed)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_figures_of_proc_are_parsed() {
        let meminfo = "MemTotal:       24645536 kB\nMemFree:        1 kB\nMemAvailable:   23999488 kB\n";
        assert_eq!(available_in(meminfo), Some(23_999_488 << 10));
        assert_eq!(available_in("MemTotal: 1 kB\n"), None);
        assert_eq!(group_in("3:cpu:/a\n0::/user.slice/b\n"), Some("/user.slice/b"));
        // Other tests allocate and free memory at the same time, and Linux counts per core, so the two figures can't be compared with each
        // other.
        let held = std::hint::black_box(vec![1u8; 32 << 20]);
        assert!(of_process() >= Some(held.len() as u64));
        assert!(peak_of_process() >= Some(held.len() as u64));
    }
}
