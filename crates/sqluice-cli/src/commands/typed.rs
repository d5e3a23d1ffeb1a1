//! Reads lines that a user types at the terminal.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use sqluice::progress::Cancel;

/// The interval at which Ctrl-C is checked while waiting for a line.
const TICK: Duration = Duration::from_millis(50);

/// Reads a line of standard input. The line is empty at the end of the input.
pub(super) fn line(cancel: &Cancel) -> anyhow::Result<String> {
    let (send, receive) = mpsc::channel();
    // A read can't be interrupted. If the user presses Ctrl-C, this thread is abandoned and ends with the process.
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line);
        let _ = send.send(read.map(|_| line));
    });
    loop {
        match receive.recv_timeout(TICK) {
            Ok(line) => return Ok(line?),
            Err(RecvTimeoutError::Timeout) => cancel.check()?,
            Err(RecvTimeoutError::Disconnected) => return Ok(String::new()),
        }
    }
}
