//! Opens standard input by its descriptor, and turns the echo of its terminal off.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::answers::Stream;

pub(crate) fn standard_input() -> io::Result<File> {
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

pub(crate) fn kind(file: &File) -> io::Result<Stream> {
    let about = file.metadata()?;
    Ok(match () {
        () if about.is_dir() => Stream::Folder,
        () if about.is_file() => Stream::File(about.len()),
        () => Stream::Once,
    })
}

/// The settings that the terminal of standard input had before its echo was turned off. They are restored when the value is dropped.
#[derive(Debug)]
pub(crate) struct WithoutEcho(Termios);

impl WithoutEcho {
    pub(crate) fn begin() -> io::Result<WithoutEcho> {
        let before = tcgetattr(io::stdin())?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        // The cursor still moves to the next line after Enter.
        silent.local_modes.insert(LocalModes::ECHONL);
        tcsetattr(io::stdin(), OptionalActions::Flush, &silent)?;
        Ok(WithoutEcho(before))
    }
}

impl Drop for WithoutEcho {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}
