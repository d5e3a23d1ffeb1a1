//! Repeats failed requests, with growing waits, up to a maximum number of retries and a timeout.
//!
//! ```text
//!  try ── fails for now ──> wait 0.1 s ──> try ──> wait 0.2 s ──> try ... wait 10 s ──> try
//!  |<--- the timeout, from the first try or the last progress; then the last error is reported --->|
//! ```
//!
//! Progress is 64 KiB of new bytes or, if the answer is read as a stream, a piece of the answer that the reader has taken.
//!
//! If retries are permitted, a try that reads fails once the server has sent nothing for a quarter of the timeout, at most 30 seconds.

use std::error::Error as _;
use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use object_store::Error as StoreError;
use object_store::client::{HttpError, HttpErrorKind};
use sqluice_core::remote::RequestLimits;
use sqluice_core::{splitmix, waits};

/// The first wait between two tries. Each further wait is twice the previous one, up to `WAIT_MAX`. Tests scale all waits ([`waits`]).
pub(crate) const WAIT_MIN: Duration = Duration::from_millis(100);
/// The longest wait between two tries.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(10);

/// The time for attempts to connect to a server that has never accepted a connection, much shorter than the timeout: the name of the server
/// may be misspelled.
const CONNECT_FOR: Duration = Duration::from_secs(10);

/// The longest time that a try of a request that reads waits for the next bytes, if retries are permitted.
const STALL_MAX: Duration = Duration::from_secs(30);
/// The divisor of the timeout: a try waits for the next bytes at most a quarter of the timeout, if this is shorter than `STALL_MAX`.
const STALL_SHARE: u32 = 4;

/// The number of bytes that a connection must deliver within the timeout: a server that sends fewer counts as stalled.
const FLOW_BYTES: u64 = 1 << 10;

/// The number of new bytes after which the tries of a request count from zero again. A server may break every answer, but not after a few
/// bytes each time.
const PROGRESS_BYTES: u64 = 64 << 10;

/// The tries of one request: the limits, and when bytes last arrived.
#[derive(Debug)]
pub(crate) struct Tries {
    limits: RequestLimits,
    /// The time that a try waits for the next bytes.
    stall: Duration,
    /// The start of the wait for bytes: when the last [`FLOW_BYTES`] bytes were complete, when the server last showed that it is alive, or
    /// when the timeouts were restarted.
    since: Instant,
    /// The number of bytes that have arrived of the next [`FLOW_BYTES`] bytes.
    flow_bytes: u64,
    /// The start of the time for retries: when the retries were last reset to zero, or when the timeouts were restarted.
    new_since: Instant,
    /// The number of new bytes that have arrived since the retries were last reset to zero.
    new_bytes: u64,
    repeats: u32,
    was_reached: bool,
}

impl Tries {
    /// Creates the tries of a request that receives bytes.
    pub(crate) fn new(limits: &RequestLimits) -> Tries {
        let stall = match limits.retries {
            0 => limits.silence(),
            _ => (limits.silence() / STALL_SHARE).min(STALL_MAX),
        };
        let since = Instant::now();
        Tries {
            limits: *limits,
            stall,
            since,
            flow_bytes: 0,
            new_since: since,
            new_bytes: 0,
            repeats: 0,
            was_reached: false,
        }
    }

    /// Creates the tries of a request that sends many bytes, during which nothing is received.
    pub(crate) fn of_upload(limits: &RequestLimits) -> Tries {
        Tries { stall: limits.silence(), ..Tries::new(limits) }
    }

    fn left(&self, since: Instant) -> Duration {
        self.limits.silence().saturating_sub(since.elapsed())
    }

    /// Waits for the next step of a try. Returns an error if the step takes too long.
    pub(crate) async fn step<T>(&self, step: impl Future<Output = T>) -> Result<T, StoreError> {
        let limit = self.stall.min(self.left(self.since));
        tokio::time::timeout(limit, step).await.map_err(|_| stalled(limit))
    }

    /// Records that `bytes` new bytes have arrived.
    pub(crate) fn arrived(&mut self, bytes: u64) {
        self.was_reached = true;
        (self.flow_bytes, self.new_bytes) = (self.flow_bytes + bytes, self.new_bytes + bytes);
        if self.flow_bytes >= FLOW_BYTES {
            (self.since, self.flow_bytes) = (Instant::now(), 0);
        }
        if self.new_bytes >= PROGRESS_BYTES {
            (self.new_since, self.new_bytes, self.repeats) = (Instant::now(), 0, 0);
        }
    }

    /// Restarts the timeouts: the caller was busy, and waits for bytes again from now on.
    pub(crate) fn resumed(&mut self) {
        (self.since, self.new_since) = (Instant::now(), Instant::now());
    }

    /// Records that bytes of a repeated answer have arrived which the caller already has: the server is alive.
    pub(crate) fn arrived_again(&mut self) {
        self.since = Instant::now();
    }

    /// Waits before the next try after an error that may pass. Returns the error if no further try is permitted.
    pub(crate) async fn wait(&mut self, error: StoreError) -> Result<(), StoreError> {
        let connects = http_kind(&error) == Some(HttpErrorKind::Connect);
        self.was_reached |= !connects;
        let left = match self.was_reached {
            true => self.left(self.new_since),
            false => {
                self.left(self.new_since).min(waits::scaled(CONNECT_FOR).saturating_sub(self.since.elapsed()))
            }
        };
        let is_stalled = is_stall(&error);
        let error = match is_stalled {
            true => stalled(self.new_since.elapsed()),
            false => error,
        };
        if !is_passing(&error) || self.repeats >= self.limits.retries || left.is_zero() {
            return Err(error);
        }
        let wait = waits::scaled((WAIT_MIN * 2_u32.pow(self.repeats.min(10))).min(WAIT_MAX));
        self.repeats += 1;
        tokio::time::sleep(jittered(wait).min(left)).await;
        match self.left(self.new_since).is_zero() {
            true => Err(error),
            false => {
                self.since = self.new_since;
                Ok(())
            }
        }
    }

    /// Sends a request until it succeeds or no further try is permitted.
    pub(crate) async fn send<T, F: Future<Output = Result<T, StoreError>>>(
        mut self,
        mut request: impl FnMut() -> F,
    ) -> Result<T, StoreError> {
        loop {
            match self.step(request()).await.flatten() {
                Ok(done) => return Ok(done),
                Err(error) => self.wait(error).await?,
            }
        }
    }
}

/// Returns a random wait between half of `wait` and `wait`, so that requests that failed together are not repeated together.
fn jittered(wait: Duration) -> Duration {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let chance = splitmix::nth(COUNT.fetch_add(1, Ordering::Relaxed)) >> 40;
    wait / 2 + (wait / 2).mul_f64(chance as f64 / f64::from(1_u32 << 24))
}

/// The error for a server that sends nothing.
#[derive(Debug)]
struct Stalled(Duration);

impl fmt::Display for Stalled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the server sent nothing for {:.1} seconds", self.0.as_secs_f64())
    }
}

impl std::error::Error for Stalled {}

fn stalled(after: Duration) -> StoreError {
    StoreError::Generic { store: "server", source: Box::new(Stalled(after)) }
}

/// Returns the error for an answer that ends before all of its bytes have arrived.
pub(crate) fn cut(got: u64, wanted: u64) -> StoreError {
    let source = format!("the answer ended after {got} of {wanted} bytes");
    StoreError::Generic { store: "server", source: Box::new(Cut(source)) }
}

#[derive(Debug)]
struct Cut(String);

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Cut {}

/// Returns the causes of an error, without the error itself.
fn causes(error: &StoreError) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    let mut next = error.source();
    std::iter::from_fn(move || {
        let cause = next?;
        next = cause.source();
        Some(cause)
    })
}

fn http_kind(error: &StoreError) -> Option<HttpErrorKind> {
    causes(error).find_map(|cause| cause.downcast_ref::<HttpError>()).map(HttpError::kind)
}

/// Returns `true` if a server sent nothing.
pub(crate) fn is_stall(error: &StoreError) -> bool {
    causes(error).any(|cause| cause.is::<Stalled>()) || http_kind(error) == Some(HttpErrorKind::Timeout)
}

/// Returns `true` if a connection broke or could not be opened.
pub(crate) fn is_broken(error: &StoreError) -> bool {
    causes(error).any(|cause| cause.is::<Cut>())
        || matches!(
            http_kind(error),
            Some(
                HttpErrorKind::Connect
                    | HttpErrorKind::Request
                    | HttpErrorKind::Interrupted
                    | HttpErrorKind::Decode
            )
        )
}

/// Returns `true` if the same request may succeed later.
fn is_passing(error: &StoreError) -> bool {
    if causes(error).any(|cause| cause.is::<Stalled>() || cause.is::<Cut>()) {
        return true;
    }
    let text = error.to_string();
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    // The servers for a machine's credentials answer at once or do not exist.
    if has(&["169.254.", "metadata.google"]) {
        return false;
    }
    match http_kind(error) {
        Some(HttpErrorKind::Connect) => !causes(error).any(|cause| cause.to_string().contains("certificate")),
        Some(
            HttpErrorKind::Request
            | HttpErrorKind::Timeout
            | HttpErrorKind::Interrupted
            | HttpErrorKind::Decode,
        ) => true,
        Some(_) => has(&["body"]),
        None => has(&["status code: 5", "status code: 429", "status code: 408", "InternalError", "SlowDown"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: &str) -> StoreError {
        StoreError::Generic {
            store: "S3",
            source: format!("Server returned non-2xx status code: {status}").into(),
        }
    }

    #[test]
    fn temporary_errors_are_distinguished_from_permanent_errors() {
        for status in ["500 Internal Server Error", "503 Slow Down: x", "429 Too Many Requests", "408 x"] {
            assert!(is_passing(&answered(status)), "{status}");
        }
        for status in ["403 Forbidden", "404 Not Found", "416 x", "301 Moved"] {
            assert!(!is_passing(&answered(status)), "{status}");
        }
        assert!(is_passing(&stalled(Duration::from_secs(1))) && is_passing(&cut(1, 2)));
    }

    #[test]
    fn a_failing_request_is_repeated_until_the_last_retry_or_the_timeout() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let sent = |timeout: Duration, retries: u32| {
            let (limits, mut count) = (RequestLimits { timeout: Some(timeout), retries }, 0);
            let tries = Tries::new(&limits);
            let done: Result<(), StoreError> = runtime.block_on(tries.send(|| {
                count += 1;
                async { Err(answered("500 x")) }
            }));
            assert!(done.is_err());
            count
        };
        assert_eq!(sent(Duration::from_secs(60), 0), 1);
        assert_eq!(sent(Duration::from_secs(60), 2), 3);
        assert!((2..6).contains(&sent(Duration::from_millis(500), 1000)));
    }
}
