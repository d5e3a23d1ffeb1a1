//! Uploads that fail, by broken connections, refused requests, and runs that end early: the store gets no object.

use std::process::Child;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use crate::http::{Answer, Request};
use crate::store::{Deed, Store};
use crate::support::{Limit, end, finish, folder, names, send, spawn, wait_until};

const GENERATE: [&str; 7] =
    ["generate", "s3://bucket/x.db", "--preset", "user", "--rows", "1500k", "--memory=120MiB"];

fn refused() -> Deed {
    let body = "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>";
    Deed::Answer(Answer::new(403, body).with("content-type", "application/xml"))
}

/// Runs an upload to a store that disturbs some requests, and asserts that the run fails and the store has no object.
#[track_caller]
fn assert_leaves_nothing(
    is_meant: impl Fn(&Request) -> bool + Send + Sync + 'static,
    deed: impl Fn() -> Deed + Send + Sync + 'static,
    message: &str,
) {
    let Some(store) = Store::with(move |request| if is_meant(request) { deed() } else { Deed::Pass }) else {
        return;
    };
    let folder = folder();
    let ran = finish(store.sqluice(folder.path()).args(GENERATE));
    assert_eq!(ran.code(), Some(1), "{ran:?}");
    assert!(ran.stderr.contains(message) && ran.stderr.contains("s3://bucket/x.db"), "{message}: {ran:?}");
    assert_eq!(store.get("x.db"), None);
    assert!(!store.has_uploads(), "the upload was not given up: {ran:?}");
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn an_upload_with_a_refused_part_leaves_no_object() {
    for part in [1, 2, 4] {
        let message = format!("cannot upload part {part} of s3://bucket/x.db");
        assert_leaves_nothing(move |request| request.part() == Some(part), refused, &message);
    }
}

#[test]
fn an_upload_whose_start_or_end_is_refused_leaves_no_object() {
    assert_leaves_nothing(
        |request| request.method == "POST" && request.path.contains("uploads"),
        refused,
        "403 Forbidden: AccessDenied: Access Denied",
    );
    assert_leaves_nothing(Request::completes, refused, "cannot complete the upload of s3://bucket/x.db");
}

#[test]
fn a_connection_that_breaks_again_and_again_leaves_no_object() {
    assert_leaves_nothing(
        |request| request.part() == Some(2),
        || Deed::Close,
        "cannot upload part 2 of s3://bucket/x.db",
    );
}

#[test]
fn upload_requests_that_fail_a_few_times_are_repeated() {
    let failed = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&failed);
    let Some(store) = Store::with(move |request| match request.part() {
        Some(2 | 3) if count.load(Ordering::Relaxed) < 4 => match count.fetch_add(1, Ordering::Relaxed) {
            0 | 2 => Deed::Close,
            1 => Deed::PassAndClose,
            _ => Deed::Answer(Answer::new(503, "<Error><Code>SlowDown</Code></Error>")),
        },
        _ => Deed::Pass,
    }) else {
        return;
    };
    let folder = folder();
    let ran = finish(store.sqluice(folder.path()).args(GENERATE));
    assert!(ran.status.success(), "{ran:?}");
    assert_eq!(failed.load(Ordering::Relaxed), 4);
    let file = [&GENERATE[..1], &["x.db"], &GENERATE[2..]].concat();
    assert!(finish(store.sqluice(folder.path()).args(file)).status.success());
    assert!(store.get("x.db").unwrap() == std::fs::read(folder.path().join("x.db")).unwrap());
}

#[test]
fn an_upload_succeeds_if_the_answer_to_its_last_request_is_lost() {
    let Some(store) =
        Store::with(|request| if request.completes() { Deed::PassAndClose } else { Deed::Pass })
    else {
        return;
    };
    let folder = folder();
    let ran = finish(store.sqluice(folder.path()).args(GENERATE));
    assert!(ran.status.success(), "{ran:?}");
    assert!(store.get("x.db").unwrap().starts_with(b"SQLite format 3\0"));
}

#[test]
fn an_object_that_appears_during_the_upload_is_not_replaced() {
    type Another = Box<dyn Fn(&Request) + Send + Sync>;
    let made = Arc::new(std::sync::OnceLock::<Another>::new());
    let by = Arc::clone(&made);
    let Some(store) = Store::with(move |request| {
        if let (Some(2), Some(another)) = (request.part(), by.get()) {
            another(&Request { body: b"other".to_vec(), ..crate::store::owner("PUT", "/bucket/x.db") });
        }
        Deed::Pass
    }) else {
        return;
    };
    assert!(made.set(Box::new(store.of_another())).is_ok());
    let folder = folder();
    let ran = finish(store.sqluice(folder.path()).args(GENERATE));
    assert!(ran.code() == Some(1) && ran.stderr.contains("already exists"), "{ran:?}");
    assert_eq!(store.get("x.db").unwrap(), b"other");
    assert!(!store.has_uploads());
}

/// A gate at which requests wait, and the number of waiting requests.
#[derive(Default)]
struct Gate {
    state: Mutex<(bool, usize)>,
    changed: Condvar,
}

impl Gate {
    fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        state.1 += 1;
        self.changed.notify_all();
        let mut state = self.changed.wait_while(state, |state| !state.0).unwrap();
        state.1 -= 1;
        self.changed.notify_all();
    }

    /// Opens the gate, and waits until the waiting requests have passed.
    fn open(&self) {
        let mut state = self.state.lock().unwrap();
        state.0 = true;
        self.changed.notify_all();
        drop(self.changed.wait_while(state, |state| state.1 > 0).unwrap());
    }

    fn close(&self) {
        self.state.lock().unwrap().0 = false;
    }

    fn has_waiting(&self) -> bool {
        self.state.lock().unwrap().1 > 0
    }
}

/// Returns a store in which all parts except the first three wait at a gate.
fn gated() -> Option<(Store, Arc<Gate>)> {
    let gate = Arc::new(Gate::default());
    let before = Arc::clone(&gate);
    let store = Store::with(move |request| {
        if request.part().is_some_and(|part| part > 3) {
            before.pass();
        }
        Deed::Pass
    })?;
    Some((store, gate))
}

/// Starts a run, and waits until a part of its upload waits at the gate.
fn waiting(store: &Store, gate: &Gate, folder: &std::path::Path) -> Child {
    let args = [&GENERATE[..5], &["3M", "--memory=120MiB"]].concat();
    let mut child = spawn(store.sqluice(folder).args(args));
    assert!(wait_until(&mut child, || gate.has_waiting()), "it ended before part 4");
    child
}

#[test]
fn a_killed_upload_leaves_no_object() {
    let Some((store, gate)) = gated() else { return };
    let folder = folder();
    let mut child = waiting(&store, &gate, folder.path());
    child.kill().unwrap();
    end(child);
    // Let the store accept the parts that were sent before the kill.
    gate.open();
    let limit = Limit::new();
    while store.open_requests() > 0 {
        limit.pause("the answer to the last request");
    }
    assert_eq!(store.get("x.db"), None);
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
#[cfg_attr(
    windows,
    ignore = "signals are those of Unix, and wine sends no console events to programs without a console"
)]
fn an_interrupted_run_aborts_its_upload() {
    let Some((store, gate)) = gated() else { return };
    for signal in ["INT", "TERM"] {
        let folder = folder();
        gate.close();
        let child = waiting(&store, &gate, folder.path());
        send(&child, signal);
        let ran = end(child);
        assert_eq!(ran.code(), Some(130), "{ran:?}");
        assert_eq!(store.get("x.db"), None);
        assert!(!store.has_uploads());
        assert_eq!(names(folder.path()), [""; 0]);
        gate.open();
        store.requests.lock().unwrap().clear();
    }
}
