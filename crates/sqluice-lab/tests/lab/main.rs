//! Runs of the lab, advice, and the page of a run.

mod advise;
mod report_browser;
mod report_page;
mod tiny;
