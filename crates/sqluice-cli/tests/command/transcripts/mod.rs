//! Transcripts of all commands, with their flags and errors: the output of a command, its exit code, and the files that it leaves.

mod advise;
mod check_info;
mod copy;
mod existing;
mod export;
mod first_commands;
mod generate;
mod help;
mod index;
mod lab;
mod lacking;
mod load_converted;
mod load_dump;
mod load_folders;
mod load_format;
mod load_json;
mod load_keys;
mod load_rejects;
mod load_run;
#[cfg(feature = "spreadsheets")]
mod load_sheets;
mod load_tables;
mod merge;
mod output;
mod profile;
mod recover;
mod schema;
mod target;
mod usage;
