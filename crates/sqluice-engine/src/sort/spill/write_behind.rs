//! A thread that writes blocks of runs while the sorters fill the next blocks.

use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use sqluice_core::error::{Error, Result};
use sqluice_format::aligned::AlignedBuffer;

use super::spill_file::SpillFile;

/// A channel that delivers the buffer of a read or write after the read or write has ended, or the error.
pub(in crate::sort) type Underway = Receiver<Result<AlignedBuffer>>;

/// A thread that writes blocks of runs, and the channel of its requests.
#[derive(Debug)]
pub(in crate::sort) struct WriteBehind {
    requests: Option<Sender<Full>>,
    thread: Option<JoinHandle<()>>,
}

/// A request to write a full buffer.
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
                // The writer of the run may have been dropped.
                let _ = reply.send(written.map(|()| buffer));
            }
        };
        let thread = std::thread::Builder::new().name("sqluice-write-behind".to_owned()).spawn(write);
        let thread = thread.map_err(cannot_start)?;
        Ok(WriteBehind { requests: Some(sender), thread: Some(thread) })
    }

    /// Begins to write a buffer at an offset of a file. The returned channel delivers the buffer back when it is written, or the error.
    pub(in crate::sort) fn write(
        &self,
        file: &Arc<SpillFile>,
        offset: u64,
        buffer: AlignedBuffer,
    ) -> Underway {
        let (reply, result) = bounded(1);
        if let Some(requests) = &self.requests {
            // Sending can't fail, because the thread runs until this sender is dropped.
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
