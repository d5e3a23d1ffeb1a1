//! Threads that read blocks of spilled runs before a merge needs them.

use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use sqluice_core::error::Result;
use sqluice_format::aligned::AlignedBuffer;

use super::Spill;
use super::write_behind::{Underway, cannot_start};

/// The threads that read blocks of spilled runs before a merge needs them. Several merges may share the threads.
#[derive(Debug)]
pub struct Prefetch {
    requests: Option<Sender<Request>>,
    threads: Vec<JoinHandle<()>>,
}

/// A request to read blocks at an offset of `spill`.
struct Request {
    spill: Arc<Spill>,
    offset: u64,
    /// The buffer for the blocks. Its length is the number of bytes to read.
    buffer: AlignedBuffer,
    reply: Sender<Result<AlignedBuffer>>,
}

impl Prefetch {
    /// Starts `threads` threads that wait for requests.
    ///
    /// # Errors
    /// If a thread can't be started.
    pub fn new(threads: usize) -> Result<Prefetch> {
        let (sender, receiver) = unbounded::<Request>();
        let read = |receiver: Receiver<Request>| {
            for Request { spill, offset, mut buffer, reply } in receiver {
                let read = spill.read(offset, buffer.bytes_mut());
                // The reader that asked for the blocks may have been dropped.
                let _ = reply.send(read.map(|()| buffer));
            }
        };
        let mut prefetch = Prefetch { requests: Some(sender), threads: Vec::new() };
        for _ in 0..threads {
            let receiver = receiver.clone();
            let thread = std::thread::Builder::new().name("sqluice-prefetch".to_owned());
            let started = thread.spawn(move || read(receiver));
            prefetch.threads.push(started.map_err(cannot_start)?);
        }
        Ok(prefetch)
    }

    /// Begins to read blocks at an offset of `spill` into `buffer`, whose length is the number of bytes to read. The returned channel
    /// delivers the filled buffer, or the error.
    pub(in crate::sort) fn read(&self, spill: &Arc<Spill>, offset: u64, buffer: AlignedBuffer) -> Underway {
        let (reply, result) = bounded(1);
        let request = Request { spill: Arc::clone(spill), offset, buffer, reply };
        if let Some(requests) = &self.requests {
            // Sending can't fail, because the threads run until this sender is dropped.
            let _ = requests.send(request);
        }
        result
    }
}

impl Drop for Prefetch {
    fn drop(&mut self) {
        self.requests = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
