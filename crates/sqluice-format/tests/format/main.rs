//! The file format: layouts byte by byte, properties of all parts, and SQLite as the oracle of whole files.

mod cases;
mod faults_in_files;
mod faults_in_pages;
mod indexes;
mod key;
mod lock_page;
mod oracle;
mod properties;
mod scan;
mod support;
