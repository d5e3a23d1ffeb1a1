use super::{Dialect, translated};

#[test]
fn scratch() {
    for (dialect, file) in [(Dialect::MySql, "/tmp/h/scratch/my_ddl.sql"), (Dialect::Postgres, "/tmp/h/scratch/pg_ddl.sql")] {
        let t = translated(dialect, &std::fs::read_to_string(file).unwrap());
        for s in &t.statements { println!("{s};"); }
        for l in &t.left_out { println!("LEFT {l:?}"); }
        for l in &t.notes { println!("NOTE {l:?}"); }
        super::database(&t);
    }
}
