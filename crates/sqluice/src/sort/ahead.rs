//! Threads that read blocks before they are needed, and one that writes blocks while more are made.

use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use sqluice_format::aligned::AlignedBuffer;

use super::file::SpillFile;
use super::spill::Spill;
use crate::error::{Error, Result};

/// A buffer on its way to the disk or from there, and what came of it.
pub(super) type Underway = Receiver<Result<AlignedBuffer>>;

/// Threads that read blocks before they are needed, for all that is merged at a time.
#[derive(Debug)]
pub struct Ahead {
    requests: Option<Sender<Request>>,
    threads: Vec<JoinHandle<()>>,
}

/// Blocks that will be needed.
struct Request {
    spill: Arc<Spill>,
    offset: u64,
    /// As long as what is to be read.
    buffer: AlignedBuffer,
    reply: Sender<Result<AlignedBuffer>>,
}

impl Ahead {
    /// So many threads.
    ///
    /// # Errors
    /// When they can't be started.
    pub fn new(threads: usize) -> Result<Ahead> {
        let (sender, receiver) = unbounded::<Request>();
        let read = |receiver: Receiver<Request>| {
            for Request { spill, offset, mut buffer, reply } in receiver {
                let read = spill.read(offset, buffer.bytes_mut());
                // Whoever asked may be gone.
                let _ = reply.send(read.map(|()| buffer));
            }
        };
        let mut ahead = Ahead { requests: Some(sender), threads: Vec::new() };
        for _ in 0..threads {
            let receiver = receiver.clone();
            let thread = std::thread::Builder::new().name("sqluice-ahead".to_owned());
            let started = thread.spawn(move || read(receiver));
            ahead.threads.push(started.map_err(cannot_start)?);
        }
        Ok(ahead)
    }

    /// Begins to read as many blocks as the buffer is long.
    pub(super) fn read(&self, spill: &Arc<Spill>, offset: u64, buffer: AlignedBuffer) -> Underway {
        let (reply, result) = bounded(1);
        let request = Request { spill: Arc::clone(spill), offset, buffer, reply };
        if let Some(requests) = &self.requests {
            // The threads live as long as this sender.
            let _ = requests.send(request);
        }
        result
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.requests = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// A thread that writes blocks.
#[derive(Debug)]
pub(super) struct Behind {
    requests: Option<Sender<Full>>,
    thread: Option<JoinHandle<()>>,
}

/// Blocks that are to be written.
struct Full {
    file: Arc<SpillFile>,
    offset: u64,
    buffer: AlignedBuffer,
    reply: Sender<Result<AlignedBuffer>>,
}

impl Behind {
    pub(super) fn new() -> Result<Behind> {
        let (sender, receiver) = unbounded::<Full>();
        let write = move || {
            for Full { file, offset, buffer, reply } in receiver {
                let written = file.write(offset, buffer.bytes());
                // Whoever asked may be gone.
                let _ = reply.send(written.map(|()| buffer));
            }
        };
        let thread = std::thread::Builder::new().name("sqluice-behind".to_owned()).spawn(write);
        let thread = thread.map_err(cannot_start)?;
        Ok(Behind { requests: Some(sender), thread: Some(thread) })
    }

    /// Begins to write a buffer.
    pub(super) fn write(&self, file: &Arc<SpillFile>, offset: u64, buffer: AlignedBuffer) -> Underway {
        let (reply, result) = bounded(1);
        if let Some(requests) = &self.requests {
            // The thread lives as long as this sender.
            let _ = requests.send(Full { file: Arc::clone(file), offset, buffer, reply });
        }
        result
    }
}

impl Drop for Behind {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn cannot_start(error: std::io::Error) -> Error {
    Error::target("cannot start a thread").because(error)
}
