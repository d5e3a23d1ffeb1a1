//! All verbs have the same methods: `run`, `run_with`, and `prepare` if they have a plan. The context of a call cancels this call only.

use std::fs;
use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use sqluice::archive::{Pack, PreparedPack, Unpack};
use sqluice::check::Check;
use sqluice::copy::{Copy, PreparedCopy};
use sqluice::error::{ErrorKind, Result};
use sqluice::export::{Export, PreparedExport};
use sqluice::generate::{Generate, PreparedGenerate};
use sqluice::index::{FullText, Index, PreparedIndex};
use sqluice::load::{Load, PreparedLoad};
use sqluice::merge::{Merge, PreparedMerge};
use sqluice::profile::Profile;
use sqluice::progress::{Amount, Cancel, Context, Progress};
use sqluice::recover::{PreparedRecover, Recover};
use sqluice::schema::Schema;
use sqluice::source::Source;
use sqluice::tpch::{PreparedTpch, Tpch};
use sqluice::write::{NamedRows, PreparedWrite, Write, WriteRows};

use crate::support::files::Home;
use crate::support::load::feed;
use crate::support::rows::{OwnedBatch, OwnedColumn};
use crate::support::source::InMemory;

/// The methods that all verbs have. Reports are dropped, so that one list can hold all verbs.
trait Verb {
    fn run(&self) -> Result<()>;
    fn run_with(&self, context: &Context<'_>) -> Result<()>;

    /// Returns the prepared verb; `None` for a verb without a plan.
    fn prepare(&self, _: &Context<'_>) -> Option<Result<Box<dyn Prepared>>> {
        None
    }
}

/// The methods that all prepared verbs have.
trait Prepared {
    fn plan(&self) -> String;
    fn run(self: Box<Self>, context: &Context<'_>) -> Result<()>;
}

/// Implements [`Verb`] and [`Prepared`] by the methods of a verb and of its prepared form.
macro_rules! shape {
    ($verb:ty $(, $prepared:ty)?) => {
        impl Verb for $verb {
            fn run(&self) -> Result<()> {
                <$verb>::run(self).map(drop)
            }

            fn run_with(&self, context: &Context<'_>) -> Result<()> {
                <$verb>::run_with(self, context).map(drop)
            }

            $(fn prepare(&self, context: &Context<'_>) -> Option<Result<Box<dyn Prepared>>> {
                Some(<$verb>::prepare(self, context).map(|prepared: $prepared| Box::new(prepared) as Box<dyn Prepared>))
            })?
        }

        $(impl Prepared for $prepared {
            fn plan(&self) -> String {
                <$prepared>::plan(self).to_string()
            }

            fn run(self: Box<Self>, context: &Context<'_>) -> Result<()> {
                <$prepared>::run(*self, context).map(drop)
            }
        })?
    };
}

shape!(Check);
shape!(Copy, PreparedCopy);
shape!(Export, PreparedExport);
shape!(Generate, PreparedGenerate);
shape!(Index, PreparedIndex);
shape!(Load, PreparedLoad);
shape!(Merge, PreparedMerge);
shape!(Pack, PreparedPack);
shape!(Profile);
shape!(Recover, PreparedRecover);
shape!(Tpch, PreparedTpch);
shape!(Unpack);

/// The methods `run` of this verb take the rows as their first argument.
impl Verb for WriteRows {
    fn run(&self) -> Result<()> {
        WriteRows::run(self, (0..ROWS).map(|row| (row, row))).map(drop)
    }

    fn run_with(&self, context: &Context<'_>) -> Result<()> {
        WriteRows::run_with(self, (0..ROWS).map(|row| (row, row)), context).map(drop)
    }
}

/// The methods `run` of this verb take the sources of rows as their first argument.
impl Verb for Write {
    fn run(&self) -> Result<()> {
        Write::run(self, sources()).map(drop)
    }

    fn run_with(&self, context: &Context<'_>) -> Result<()> {
        Write::run_with(self, sources(), context).map(drop)
    }

    fn prepare(&self, context: &Context<'_>) -> Option<Result<Box<dyn Prepared>>> {
        Some(Write::prepare(self, context).map(|prepared| Box::new(prepared) as Box<dyn Prepared>))
    }
}

impl Prepared for PreparedWrite {
    fn plan(&self) -> String {
        PreparedWrite::plan(self).to_string()
    }

    fn run(self: Box<Self>, context: &Context<'_>) -> Result<()> {
        PreparedWrite::run(*self, sources(), context).map(drop)
    }
}

const ROWS: u32 = 5000;

fn sources() -> Vec<Box<dyn Source>> {
    let batch = |first: i64| {
        let numbers = OwnedColumn::ints((first..first + 1000).collect());
        OwnedBatch { rows: 1000, columns: vec![numbers.clone(), numbers] }
    };
    let batches = (0..i64::from(ROWS)).step_by(1000).map(batch).collect();
    vec![Box::new(InMemory::new(batches, &[1]))]
}

/// Makes the inputs of all verbs in a new folder.
fn inputs() -> Home {
    let home = Home::new();
    let schema = schema("CREATE TABLE t (a INTEGER PRIMARY KEY, b INT)");
    Generate::new(home.path("in.db"), schema).rows(ROWS.into()).run().unwrap();
    fs::write(home.path("in.csv"), (0..ROWS).map(|row| format!("{row},x\n")).collect::<String>()).unwrap();
    fs::create_dir(home.path("folder")).unwrap();
    for file in 0..20 {
        fs::write(home.path(&format!("folder/{file}")), "x".repeat(5000)).unwrap();
    }
    Pack::new(home.path("in.archive"), home.path("folder")).run().unwrap();
    home
}

fn schema(sql: &str) -> Schema {
    Schema::parse(sql, "schema.sql".as_ref()).unwrap()
}

/// Returns all verbs by their names. Each makes the file or folder `out`, or `out.csv`, except for those that only read, and for `index`.
fn verbs(home: &Home) -> Vec<(&'static str, Box<dyn Verb>)> {
    let (db, csv, folder, out) =
        (home.path("in.db"), home.path("in.csv"), home.path("folder"), home.path("out"));
    let made = schema("CREATE TABLE t (a INT, b INT)");
    let rows = NamedRows::new("t", ["a", "b"]);
    vec![
        ("check", Box::new(Check::new(&db).full(true))),
        ("copy", Box::new(Copy::new(&db, &out).compact(true))),
        ("export", Box::new(Export::new(&db, home.path("out.csv")))),
        ("generate", Box::new(Generate::new(&out, made.clone()).rows(ROWS.into()))),
        ("index", Box::new(Index::new(&db, ["CREATE INDEX i ON t (b)"]))),
        ("index full text", Box::new(Index::new(&db, [""; 0]).full_text(FullText::new(["t(b)"])))),
        ("load", Box::new(Load::new(&out, [&csv]))),
        ("merge", Box::new(Merge::new(&out, [&db]))),
        ("pack", Box::new(Pack::new(&out, &folder))),
        ("profile", Box::new(Profile::new(&db))),
        ("recover", Box::new(Recover::new(&db, &out))),
        ("tpch", Box::new(Tpch::new(&out, 0.01))),
        ("unpack", Box::new(Unpack::new(home.path("in.archive"), &out))),
        ("write", Box::new(Write::new(&out, made).rows([rows]))),
        ("write_rows", Box::new(WriteRows::new(&out, "t").columns(["a", "b"]))),
    ]
}

/// Cancels a run at its progress report number `at`, counted from 0.
struct StopAt {
    at: usize,
    reports: AtomicUsize,
    cancel: Cancel,
}

impl StopAt {
    fn new(at: usize) -> StopAt {
        StopAt { at, reports: AtomicUsize::new(0), cancel: Cancel::new() }
    }

    fn report(&self) {
        if self.reports.fetch_add(1, Ordering::Relaxed) == self.at {
            self.cancel.cancel();
        }
    }

    /// Returns `true` if the run was cancelled.
    fn is_reached(&self) -> bool {
        self.reports.load(Ordering::Relaxed) > self.at
    }
}

impl Progress for StopAt {
    fn phase(&self, _: &str, _: Option<Amount>) {
        self.report();
    }

    fn advance(&self, _: Amount) {
        self.report();
    }
}

#[test]
fn the_method_run_of_every_verb_succeeds() {
    let home = inputs();
    for (name, _) in verbs(&home) {
        // Each verb runs in its own folder, since most make the same file.
        let home = inputs();
        let (_, verb) = verbs(&home).into_iter().find(|(other, _)| *other == name).unwrap();
        verb.run().unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn every_verb_cancelled_at_a_progress_report_stops_and_leaves_no_new_file() {
    for number in 0..verbs(&Home::new()).len() {
        for at in (0..).map(|power| (1 << power) - 1) {
            let home = inputs();
            let before = home.names();
            let (name, verb) = verbs(&home).swap_remove(number);
            let stop = StopAt::new(at);
            match verb.run_with(&Context::default().progress(&stop).cancel(&stop.cancel)) {
                Ok(()) if stop.is_reached() => {}
                Ok(()) => break,
                Err(error) => {
                    assert!(stop.is_reached(), "{name} at {at}: {error}");
                    assert_eq!(error.kind(), ErrorKind::Interrupted, "{name} at {at}: {error}");
                    // Files that `unpack` has restored stay.
                    assert!(home.names() == before || name == "unpack", "{name} at {at}: {:?}", home.names());
                }
            }
        }
    }
}

#[test]
fn every_verb_and_its_preparation_stop_at_once_if_cancelled_before_the_start() {
    let cancel = Cancel::new();
    cancel.cancel();
    let context = Context::default().cancel(&cancel);
    let home = inputs();
    let before = home.names();
    for (name, verb) in verbs(&home) {
        let error = verb.run_with(&context).expect_err(name);
        assert_eq!(error.kind(), ErrorKind::Interrupted, "{name}: {error}");
        if let Some(prepared) = verb.prepare(&context) {
            assert_eq!(prepared.map(drop).expect_err(name).kind(), ErrorKind::Interrupted, "{name}");
        }
        assert_eq!(home.names(), before, "{name}");
    }
}

#[test]
fn a_prepared_run_is_cancelled_by_its_own_context_and_not_by_that_of_the_preparation() {
    for number in 0..verbs(&Home::new()).len() {
        let [of_prepare, of_run] = [Cancel::new(), Cancel::new()];
        let home = inputs();
        let (name, verb) = verbs(&home).swap_remove(number);
        let prepare = || verb.prepare(&Context::default().cancel(&of_prepare));
        let (Some(stopped), Some(prepared)) = (prepare(), prepare()) else { continue };
        let (stopped, prepared) = (stopped.unwrap(), prepared.unwrap());
        assert!(!prepared.plan().is_empty(), "{name}");
        of_prepare.cancel();
        of_run.cancel();
        let error = stopped.run(&Context::default().cancel(&of_run)).expect_err(name);
        assert_eq!(error.kind(), ErrorKind::Interrupted, "{name}: {error}");
        prepared.run(&Context::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn a_load_that_waits_for_a_pipe_is_cancelled_by_the_context_of_the_run() {
    let home = Home::new();
    let (end, ended) = mpsc::channel::<()>();
    feed(&home.path("pipe.csv"), move |pipe| {
        let rows: String = (0..100_000).map(|row| format!("{row}\n")).collect();
        // This write fails once the load has stopped.
        let _ = pipe.write_all(rows.as_bytes());
        let _ = ended.recv();
    });
    let load = Load::new(home.path("x.db"), [home.path("pipe.csv")])
        .tune(|tuning| (tuning.sample_bytes, tuning.part_bytes) = (20, 100));
    let of_prepare = Cancel::new();
    let prepared = load.prepare(&Context::default().cancel(&of_prepare)).unwrap();
    of_prepare.cancel();
    let stop = StopAt::new(3);
    let error = prepared.run(&Context::default().progress(&stop).cancel(&stop.cancel)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}");
    assert_eq!(home.names(), ["pipe.csv"]);
    drop(end);
}
