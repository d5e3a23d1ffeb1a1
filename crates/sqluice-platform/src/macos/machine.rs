//! Reads properties of the machine with sysctl.

use std::path::Path;

use super::sysctl;
use crate::answers::Machine;

pub(crate) fn here() -> Machine {
    let mut load = [0.0];
    // SAFETY: the call writes at most the given number of values.
    #[allow(unsafe_code, reason = "no safe call exists")]
    let loads = unsafe { libc::getloadavg(load.as_mut_ptr(), 1) };
    let text = |name| sysctl::text(name).unwrap_or_default();
    Machine {
        cpu: sysctl::text(c"machdep.cpu.brand_string"),
        memory_bytes: sysctl::integer(c"hw.memsize"),
        kernel: format!("{} {}", text(c"kern.ostype"), text(c"kern.osrelease")),
        load: (loads == 1).then_some(load[0]),
    }
}

pub(crate) fn mount(folder: &Path) -> Option<(String, String)> {
    let about = rustix::fs::statfs(folder).ok()?;
    let text = |bytes: &[std::ffi::c_char]| {
        let bytes: Vec<u8> =
            bytes.iter().map(|byte| byte.cast_unsigned()).take_while(|byte| *byte != 0).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Some((text(&about.f_fstypename), text(&about.f_mntfromname)))
}
