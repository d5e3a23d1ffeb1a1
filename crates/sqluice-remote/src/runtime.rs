//! Futures as blocking calls.
//!
//! The threads of the runtime do what takes little time: requests, their signatures, their answers. A caller waits for a channel, looks
//! now and then whether the run is cancelled, and may itself be a thread of another runtime.

use std::future::Future;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

/// How long a wait goes on without looking whether it should.
const PATIENCE: Duration = Duration::from_millis(20);

/// How long a reader sleeps that has nothing to read.
const SHORT: Duration = Duration::from_millis(1);

/// Threads of the runtime.
const THREADS: usize = 2;

/// The runtime of all requests of this process.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    // A provider that the program has chosen already stays.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Builder::new_multi_thread();
    let built = builder.worker_threads(THREADS).thread_name("sqluice-remote").enable_all().build();
    let built = built.map_err(|error| Error::target("cannot start threads for requests").because(error))?;
    Ok(RUNTIME.get_or_init(|| built))
}

/// Begins a future, which goes on by itself.
pub(crate) fn begin<T: Send + 'static>(
    future: impl Future<Output = T> + Send + 'static,
) -> Result<JoinHandle<T>> {
    Ok(runtime()?.spawn(future))
}

/// Runs a client's constructor where it finds the runtime.
pub(crate) fn within<T>(make: impl FnOnce() -> T) -> Result<T> {
    let _guard = runtime()?.enter();
    Ok(make())
}

/// Waits for a future, or until the run is cancelled.
pub(crate) fn wait<T: Send + 'static>(
    cancel: &Cancel,
    future: impl Future<Output = T> + Send + 'static,
) -> Result<T> {
    let (send, receive) = crossbeam_channel::bounded(1);
    let task = begin(async move {
        let _ = send.send(future.await);
    })?;
    receive_or_cancel(&receive, cancel).inspect_err(|_| task.abort())
}

/// Waits for a future, cancelled or not, but not for longer than `limit`; `None`: it took longer.
pub(crate) fn wait_at_most<T: Send + 'static>(
    limit: Duration,
    future: impl Future<Output = T> + Send + 'static,
) -> Option<T> {
    let (send, receive) = crossbeam_channel::bounded(1);
    let task = begin(async move {
        let _ = send.send(future.await);
    })
    .ok()?;
    let received = receive.recv_deadline(Instant::now() + limit).ok();
    task.abort();
    received
}

/// The next message of a channel, or an error when the run is cancelled.
pub(crate) fn receive_or_cancel<T>(receive: &Receiver<T>, cancel: &Cancel) -> Result<T> {
    loop {
        cancel.check()?;
        match receive.recv_timeout(PATIENCE) {
            Ok(received) => return Ok(received),
            Err(RecvTimeoutError::Timeout) => {}
            // Its task has panicked.
            Err(RecvTimeoutError::Disconnected) => return Err(Error::target("a request was given up")),
        }
    }
}

/// The next message of a channel of the runtime, or an error when the run is cancelled.
pub(crate) fn receive_piece<T>(receive: &mut tokio::sync::mpsc::Receiver<T>, cancel: &Cancel) -> Result<T> {
    loop {
        cancel.check()?;
        match receive.try_recv() {
            Ok(received) => return Ok(received),
            Err(tokio::sync::mpsc::error::TryRecvError::Empty) => std::thread::sleep(SHORT),
            Err(tokio::sync::mpsc::error::TryRecvError::Disconnected) => {
                return Err(Error::target("a request was given up"));
            }
        }
    }
}
