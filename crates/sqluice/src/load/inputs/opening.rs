//! Finds the archives among the files that the user names.
//!
//! | where the file is | looked at |
//! |---|---|
//! | a local file | its first bytes, whatever its name is |
//! | a pipe | its first bytes, unless the user names the format of all files |
//! | a URL | its first bytes; not if its name has the extension of a format, because each file would cost a request, one after another |

#[cfg(feature = "archives")]
pub(super) use within::{Archives, Opened, list};
#[cfg(not(feature = "archives"))]
pub(super) use without::{Archives, Opened, list};

#[cfg(feature = "archives")]
mod within {
    use std::collections::HashMap;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use sqluice_core::error::Result;
    use sqluice_core::progress::Context;
    use sqluice_core::remote::{is_url, without_secrets};
    use sqluice_sources::formats::of_name;
    use sqluice_sources::input::archive::{Archive, kind_of};
    use sqluice_sources::input::{InputFile, Named};

    use super::super::archive;
    pub(in super::super) use super::super::archive::list;
    use super::super::input::LoadInput;
    use crate::load::request::Request;
    use crate::remote;

    /// The archives of a load.
    pub(in super::super) struct Archives {
        /// The archives that are open, by their paths.
        open: HashMap<PathBuf, Arc<Archive>>,
        /// The pipes. All of them are read ahead, because a program may write to them in any order.
        pipes: HashMap<PathBuf, InputFile>,
    }

    /// A file that the user names, after a look at its first bytes: an archive, or any other file.
    pub(in super::super) enum Opened {
        Archive(Arc<Archive>),
        /// A file that is no archive, was not looked at, or can't be read: opening it reports the error.
        File(LoadInput),
    }

    impl Archives {
        /// Begins to read the pipes among the files that are named.
        pub(in super::super) fn new(named: &[Named], load: &Request, context: &Context<'_>) -> Archives {
            let is_pipe = |path: &Path| match path.metadata() {
                Ok(about) => !about.is_file() && !about.is_dir(),
                Err(_) => path == Path::new("-"),
            };
            let paths = named.iter().map(|named| &named.path).filter(|path| !is_url(path) && is_pipe(path));
            let open = |path: &PathBuf| {
                Some((path.clone(), InputFile::new(path, load.input_options(&context.cancel)).ok()?))
            };
            Archives { open: HashMap::new(), pipes: paths.filter_map(open).collect() }
        }

        /// Returns the archive if the file is one, else the file as an input. If the user names several members of an archive, it is
        /// opened only once.
        pub(in super::super) fn open(
            &mut self,
            path: &Path,
            load: &Request,
            context: &Context<'_>,
        ) -> Result<Opened> {
            if let Some(archive) = self.open.get(path) {
                return Ok(Opened::Archive(Arc::clone(archive)));
            }
            let plain = || Ok(Opened::File(LoadInput::named(path.to_owned())));
            let is_url = is_url(path);
            if is_url && of_name(&without_secrets(path)).is_some() {
                return plain();
            }
            let remote = match is_url {
                true => remote::file(path, &load.write.requests, &context.cancel)?,
                false => None,
            };
            let input = match (&remote, self.pipes.remove(path)) {
                (Some(remote), _) => {
                    InputFile::of_remote(Arc::clone(remote), load.input_options(&context.cancel))
                }
                (None, Some(pipe)) => Ok(pipe),
                (None, None) => InputFile::new(path, load.input_options(&context.cancel)),
            };
            let Ok(mut input) = input else { return plain() };
            let is_stream = !input.can_reopen();
            if is_stream && !is_url && load.format.format.is_some() {
                return Ok(Opened::File(LoadInput::opened(path.to_owned(), input, remote)));
            }
            match kind_of(&mut input) {
                Ok(Some(kind)) => {
                    let archive = archive::open(input, kind, load, context)?;
                    self.open.insert(path.to_owned(), Arc::clone(&archive));
                    Ok(Opened::Archive(archive))
                }
                Ok(None) if is_stream || is_url => {
                    Ok(Opened::File(LoadInput::opened(path.to_owned(), input, remote)))
                }
                Ok(None) => plain(),
                // Opening a failed pipe again would not report the error.
                Err(error) if is_stream => Err(error),
                Err(_) => plain(),
            }
        }
    }
}

/// A build that reads no archives.
#[cfg(not(feature = "archives"))]
mod without {
    use std::convert::Infallible;
    use std::path::Path;

    use sqluice_core::error::Result;
    use sqluice_core::progress::Context;
    use sqluice_sources::input::Named;

    use super::super::Inputs;
    use super::super::input::LoadInput;
    use crate::load::request::Request;

    pub(in super::super) struct Archives;

    /// The type of an archive in a build without the feature `archives`: no value of it exists.
    pub(in super::super) struct NoArchive(Infallible);

    /// A file that is named.
    pub(in super::super) enum Opened {
        #[expect(dead_code, reason = "no archive is opened")]
        Archive(NoArchive),
        File(LoadInput),
    }

    impl Archives {
        pub(in super::super) fn new(_: &[Named], _: &Request, _: &Context<'_>) -> Archives {
            Archives
        }

        pub(in super::super) fn open(&mut self, path: &Path, _: &Request, _: &Context<'_>) -> Result<Opened> {
            Ok(Opened::File(LoadInput::named(path.to_owned())))
        }
    }

    pub(in super::super) fn list(_: &Path, archive: &NoArchive, _: Option<&Path>, _: bool) -> Result<Inputs> {
        match archive.0 {}
    }
}
