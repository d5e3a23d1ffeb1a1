//! Runs asynchronous requests on two threads, and lets callers wait for them in blocking calls.
//!
//! The threads of the runtime only handle requests, their signatures and their answers, which takes little time. A caller waits for a
//! channel, checks regularly if the run is cancelled, and may itself be a thread of another runtime.

use std::future::Future;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

/// The time between two checks for cancellation while waiting.
const PATIENCE: Duration = Duration::from_millis(20);

/// The time that a reader sleeps if no data is available.
const SHORT: Duration = Duration::from_millis(1);

/// The number of threads that run all requests.
const THREADS: usize = 2;

/// Returns the runtime for all requests of this process.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    // If the program has already chosen a cryptography provider for TLS, this call fails and that provider stays.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Builder::new_multi_thread();
    let built = builder.worker_threads(THREADS).thread_name("sqluice-remote").enable_all().build();
    let built = built.map_err(|error| Error::target("cannot start threads for requests").because(error))?;
    Ok(RUNTIME.get_or_init(|| built))
}

/// Starts a future on the runtime.
pub(crate) fn begin<T: Send + 'static>(
    future: impl Future<Output = T> + Send + 'static,
) -> Result<JoinHandle<T>> {
    Ok(runtime()?.spawn(future))
}

/// Calls a client's constructor in the context of the runtime.
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

/// Waits for a future for at most `limit`, even if the run is cancelled. Returns `None` if the future takes longer.
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

/// Returns the next message of a channel, or an error if the run is cancelled.
pub(crate) fn receive_or_cancel<T>(receive: &Receiver<T>, cancel: &Cancel) -> Result<T> {
    loop {
        cancel.check()?;
        match receive.recv_timeout(PATIENCE) {
            Ok(received) => return Ok(received),
            Err(RecvTimeoutError::Timeout) => {}
            // The task that sends to the channel has panicked.
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::target("a request ended without an answer"));
            }
        }
    }
}

/// Returns the next message of an asynchronous channel, or an error if the run is cancelled.
pub(crate) fn receive_piece<T>(receive: &mut tokio::sync::mpsc::Receiver<T>, cancel: &Cancel) -> Result<T> {
    loop {
        cancel.check()?;
        match receive.try_recv() {
            Ok(received) => return Ok(received),
            Err(tokio::sync::mpsc::error::TryRecvError::Empty) => std::thread::sleep(SHORT),
            Err(tokio::sync::mpsc::error::TryRecvError::Disconnected) => {
                return Err(Error::target("a request ended without an answer"));
            }
        }
    }
}
