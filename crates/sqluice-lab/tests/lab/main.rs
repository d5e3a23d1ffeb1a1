//! Integration tests of the lab: runs of all experiments, `advise`, and the HTML page of a run, also in a browser.

mod advise;
mod report_browser;
mod report_page;
mod tiny;
