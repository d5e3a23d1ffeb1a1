//! Puts the questions to the system's SQLite, too, which is older than the bundled one.

use std::path::Path;

use sqluice_testkit::sqlite::sqlite3;

use super::questions::{Question, vocabulary};

/// Asserts that the SQLite of the system finds the same faults in both databases and, if there are none, that they give it the same
/// answers, and again after its changes. Does nothing if the system has no SQLite.
pub(super) fn same_answers((ours, twin): (&Path, &Path), questions: &[Question], what: &str) {
    let literal = |text: &str| format!("'{}'", text.replace('\'', "''"));
    // A statement can't have a NUL.
    let asked = questions.iter().filter(|(_, matched)| !matched.contains('\0'));
    let asked: String = asked.map(|(sql, matched)| sql.replace("?1", &literal(matched)) + ";\n").collect();
    let words = "SELECT * FROM temp.v_row; SELECT * FROM temp.v_col; SELECT * FROM temp.v_instance;";
    let check = "INSERT INTO f(f, rank) VALUES ('integrity-check', 1); PRAGMA integrity_check;";
    let all = format!("{} {words}\n{asked}", vocabulary());
    for change in ["", "INSERT INTO f(f, rank) VALUES ('merge', -30)", "INSERT INTO f(f) VALUES ('optimize')"]
    {
        let Some(checked) = sqlite3(ours, &format!("{change}; {check}")) else { return };
        let twin_checked = sqlite3(twin, &format!("{change}; {check}")).unwrap();
        assert_eq!(checked, twin_checked, "{what}: {change}: the old SQLite checks ours, and the twin");
        // The older SQLite splits some texts in another way, and takes the index of the newer one for damaged.
        if twin_checked != "ok" {
            return;
        }
        let [ours, twin] = [ours, twin].map(|path| sqlite3(path, &all).unwrap());
        let different = ours.lines().zip(twin.lines()).find(|(ours, twin)| ours != twin);
        assert!(ours == twin, "{what}: {change}: the old SQLite: {different:?}");
    }
}
