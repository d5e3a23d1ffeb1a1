//! A thread that writes blocks while the next blocks are produced.

use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use sqluice_core::error::{Error, Result};
use sqluice_format::aligned::AlignedBuffer;

use super::spill_file::SpillFile;

/// A channel for the buffer of an I/O operation in progress, or its error.
pub(in crate::sort) type Underway = Receiver<Result<AlignedBuffer>>;

/// A thread that writes blocks.
#[derive(Debug)]
pub(in crate::sort) struct WriteBehind {
    requests: Option<Sender<Full>>,
    thread: Option<JoinHandle<()>>,
}

/// A request to write blocks.
struct Full {
    file: Arc<SpillFile>,
    offset: u64,
    buffer: AlignedBuffer,
    reply: Sender<Result<AlignedBuffer>>,
}

impl WriteBehind {
    pub(in crate::sort) fn new() -> Result<WriteBehind> {
        let (sender, receiver) = unbounded::<Full>();
        let write = move || {
            for Full { file, offset, buffer, reply } in receiver {
                let written = file.write(offset, buffer.bytes());
                // The requesting writer may be gone.
                let _ = reply.send(written.map(|()| buffer));
            }
        };
        let thread = std::thread::Builder::new().name("sqluice-write-behind".to_owned()).spawn(write);
        let thread = thread.map_err(cannot_start)?;
        Ok(WriteBehind { requests: Some(sender), thread: Some(thread) })
    }

    /// Begins to write a buffer, and returns the channel that delivers the result.
    pub(in crate::sort) fn write(
        &self,
        file: &Arc<SpillFile>,
        offset: u64,
        buffer: AlignedBuffer,
    ) -> Underway {
        let (reply, result) = bounded(1);
        if let Some(requests) = &self.requests {
            // The thread lives as long as this sender.
            let _ = requests.send(Full { file: Arc::clone(file), offset, buffer, reply });
        }
        result
    }
}

impl Drop for WriteBehind {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

pub(in crate::sort) fn cannot_start(error: std::io::Error) -> Error {
    Error::target("cannot start a thread").because(error)
}
