//! Tests of the program `sqluice`: its output, its effects, and the files that it leaves after kills, failed writes and power failures.
//!
//! * `support`, `transcript`, `http`, `store`: running the command, and the servers that it uses
//! * `transcripts`: its output for each flag and each error
//! * `commands`: other processes, signals, old and damaged files, recorded bytes
//! * `killed`, `full`, `order`: kills, failed writes, power failures
//! * `remote`: objects in a store, and files of a web server

mod http;
mod store;
mod support;
mod transcript;

mod commands;
#[cfg(target_os = "linux")] // The tests mount small disks, and limit file sizes by ulimit in units of Linux.
mod full;
mod killed;
#[cfg(target_os = "linux")] // strace, which records calls, is a program of Linux.
mod order;
mod remote;
mod transcripts;
