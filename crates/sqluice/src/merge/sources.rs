//! Opens one committed state of each database to merge, and finds the objects that they share.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::{Cancel, Context};
use sqluice_core::schema::Schema;
use sqluice_core::size::grouped;
use sqluice_engine::output::{Exclusive, Target};
use sqluice_reader::snapshot::ReadOptions;
use sqluice_reader::{Snapshot, StoredObject};

use super::Merge;
use crate::remote;
use sqluice_platform::identity::{Identity, is_same, of_path};
use sqluice_platform::open_files;

/// A database to merge.
pub(super) struct Source {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) objects: Vec<StoredObject>,
    pub(super) schema: Schema,
    /// The names of shadow tables of virtual tables, in lower case.
    pub(super) shadows: HashSet<String>,
}

impl Source {
    fn new(snapshot: Snapshot, cancel: &Cancel) -> Result<Source> {
        let objects = snapshot.objects(cancel)?;
        let schema = snapshot.schema()?;
        let shadows = snapshot.shadow_tables()?;
        Ok(Source { snapshot: Arc::new(snapshot), objects, schema, shadows })
    }

    /// Returns the path as the user gave it.
    pub(super) fn name(&self) -> String {
        self.snapshot.name().display().to_string()
    }
}

/// Returns the files to read, beginning with the target if it is a source. Refuses a file that is named twice.
pub(super) fn named(merge: &Merge) -> Result<Vec<&Path>> {
    if merge.sources.is_empty() {
        return Err(Error::usage("no database to merge is named"));
    }
    let mut seen: Vec<&Path> = if merge.adds_to_target() { vec![&merge.target] } else { Vec::new() };
    // The files by their identities.
    let mut files: HashMap<Identity, &Path> = HashMap::new();
    for source in &merge.sources {
        if is_same(&merge.target, source) {
            return Err(target_as_source(merge, source));
        }
        let other = of_path(source).ok().and_then(|file| files.insert(file, source));
        if let Some(other) = other {
            let (source, other) = (source.display(), other.display());
            let message = match source.to_string() == other.to_string() {
                true => format!("{source} is named twice"),
                false => format!("{source} and {other} are the same file"),
            };
            return Err(Error::usage(message).hint("name each database once"));
        }
        seen.push(source);
    }
    Ok(seen)
}

/// Opens snapshots of all sources, including the target if it is a source. `exclusive` is the lock on the target, if the merge replaces it.
pub(super) fn open(
    merge: &Merge,
    target: &Target,
    exclusive: Option<&Exclusive>,
    context: &Context<'_>,
) -> Result<Vec<Source>> {
    let adds = merge.adds_to_target();
    let seen = named(merge)?;
    let mut options = ReadOptions::new();
    options.busy_timeout = merge.write.busy_timeout;
    options.requests = merge.write.requests;
    options.busy_limit = merge.busy_limit;
    options.pending_byte = Some(merge.write.tuning.pending_byte);
    let folder = target.temp_dir()?;
    allow_open_files(seen.len())?;
    let mut sources = Vec::new();
    for path in seen {
        let snapshot = match exclusive {
            Some(exclusive) if adds && sources.is_empty() => {
                Snapshot::of_exclusive(path, exclusive.connection(), &options)?
            }
            _ => remote::snapshot(path, &folder, &options, context)?,
        };
        sources.push(Source::new(snapshot, &context.cancel)?);
    }
    Ok(sources)
}

/// The number of open files of each source: the database, opened by SQLite and by this crate, its WAL and its WAL index.
const FILES_OF_SOURCE: u64 = 4;

/// The approximate number of other open files of the process.
const OTHER_FILES: u64 = 100;

/// Raises the limit of open files to the needs of the sources.
///
/// # Errors
/// If the system does not allow the least number of files that the sources need.
fn allow_open_files(sources: usize) -> Result<()> {
    let sources = sources as u64;
    let allowed = open_files::allow(sources * FILES_OF_SOURCE + OTHER_FILES);
    if allowed >= sources * 2 + OTHER_FILES / 2 {
        return Ok(());
    }
    let message = format!(
        "{} databases can't be open at the same time: the system allows this process {} files",
        grouped(sources),
        grouped(allowed)
    );
    Err(Error::target(message)
        .hint("merge some of them, then the results; or have the system allow more (ulimit -n)"))
}

/// Returns the names of the sources that were downloaded to temporary files.
pub(super) fn fetched(sources: &[Source]) -> Vec<PathBuf> {
    let fetched = sources.iter().filter(|source| source.snapshot.is_fetched());
    fetched.map(|source| source.snapshot.name().to_owned()).collect()
}

/// Returns the error for a target that is named among the sources.
fn target_as_source(merge: &Merge, source: &Path) -> Error {
    let message = match source == merge.target {
        true => format!("{} is the target, and one of the sources, too", source.display()),
        false => format!("{} is the same file as the target {}", source.display(), merge.target.display()),
    };
    Error::usage(message).hint(match merge.write.overwrite {
        true => message!["name another target, or leave out ", Setting::Overwrite, " and name it once"],
        false => message!["name it once, as the target: it keeps its rows, and gets those of the sources"],
    })
}

/// An object of one or more sources.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    /// `table`, `index`, `view` or `trigger`.
    pub(super) kind: String,
    pub(super) name: String,
    /// For each source that has the object: the position of the source, and the position of the object in this source.
    pub(super) members: Vec<(usize, usize)>,
}

impl Shared {
    /// Returns the object of the first source that has it.
    pub(super) fn object<'s>(&self, sources: &'s [Source]) -> &'s StoredObject {
        let (source, object) = self.members[0];
        &sources[source].objects[object]
    }

    /// Returns the object in one source; `None` if this source does not have it.
    pub(super) fn object_of<'s>(&self, sources: &'s [Source], source: usize) -> Option<&'s StoredObject> {
        let (_, object) = self.members.iter().find(|(of, _)| *of == source)?;
        Some(&sources[source].objects[*object])
    }

    /// Returns `true` if the object is a virtual table.
    pub(super) fn is_virtual(&self, sources: &[Source]) -> bool {
        self.kind == "table" && self.object(sources).tree.is_none()
    }

    /// Returns the kind and name, for messages.
    pub(super) fn describe(&self) -> String {
        format!("{} {}", self.kind, self.name)
    }
}

/// Returns the objects of all sources: first the objects of the first source in order, then the further objects of each source.
///
/// # Errors
/// If objects of different kinds have the same name.
pub(super) fn shared(sources: &[Source]) -> Result<Vec<Shared>> {
    let mut all: Vec<Shared> = Vec::new();
    // Tables, indexes and views share a namespace, and triggers have another.
    let mut places: HashMap<(bool, String), usize> = HashMap::new();
    for (number, source) in sources.iter().enumerate() {
        for (place, object) in source.objects.iter().enumerate() {
            let key = (object.kind == "trigger", object.name.to_ascii_lowercase());
            let at = *places.entry(key).or_insert(all.len());
            if at == all.len() {
                let (kind, name) = (object.kind.clone(), object.name.clone());
                all.push(Shared { kind, name, members: Vec::new() });
            }
            let shared = &mut all[at];
            let first = shared.members.first().map(|(first, _)| &sources[*first]);
            if let (Some(first), true) = (first, shared.kind != object.kind) {
                let message = format!(
                    "{} is {} in {} and {} in {}",
                    object.name,
                    with_article(&shared.kind),
                    first.name(),
                    with_article(&object.kind),
                    source.name()
                );
                return Err(Error::input(message).hint("rename one of them, or leave one out"));
            }
            shared.members.push((number, place));
        }
    }
    Ok(all)
}

fn with_article(kind: &str) -> String {
    let article = if kind == "index" { "an" } else { "a" };
    format!("{article} {kind}")
}
