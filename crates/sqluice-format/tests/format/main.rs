//! The file format: layouts byte by byte, properties of all parts, and SQLite as the oracle of whole files.

mod cases;
mod faults_in_files;
mod faults_in_pages;
mod fts5;
mod fts5_check;
mod fts5_read;
mod indexes;
mod key;
mod lock_page;
mod oracle;
mod properties;
mod scan;
mod support;
