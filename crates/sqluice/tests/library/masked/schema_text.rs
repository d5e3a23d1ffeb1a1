//! Canaries in the text of the schema: none is in a masked copy, or the report names its place without the value.

use std::fmt::Write as _;

use fastrand::Rng;
use sqluice::progress::Context;
use sqluice_testkit::effort::tries;

use super::{Lab, count, masking, texts};

/// A canary, and the object whose text has it.
struct Planted {
    canary: String,
    object: String,
    /// `true` if `strip_literals` must remove the canary.
    is_strippable: bool,
    is_comment: bool,
}

struct Planting {
    rng: Rng,
    planted: Vec<Planted>,
    sql: String,
}

impl Planting {
    fn word(&mut self) -> String {
        let letters: String = (0..12).map(|_| self.rng.lowercase()).collect();
        format!("{letters} é@{}", self.rng.u32(1000..9999))
    }

    fn add(&mut self, object: &str, is_strippable: bool, is_comment: bool) -> String {
        let canary = self.word();
        let object = object.to_owned();
        self.planted.push(Planted { canary: canary.clone(), object, is_strippable, is_comment });
        canary
    }

    /// Returns a literal of a random notation that has a canary.
    fn literal(&mut self, object: &str, is_strippable: bool) -> String {
        let canary = self.add(object, is_strippable, false);
        if self.rng.bool() { format!("\"{canary}\"") } else { format!("'{canary}'") }
    }

    /// Returns a comment with a canary, or a blank.
    fn comment(&mut self, object: &str) -> String {
        match self.rng.u8(0..6) {
            0 => format!(" -- {}\n", self.add(object, true, true)),
            1 => format!("/* {} */", self.add(object, true, true)),
            2 => format!(" /*\"{}' */ ", self.add(object, true, true)),
            3 => format!(" -- gen: '{}'\n", self.add(object, true, true)),
            _ => " ".to_owned(),
        }
    }

    fn maybe(&mut self, one_in: u8, text: impl FnOnce(&mut Planting) -> String) {
        if self.rng.u8(0..one_in) == 0 {
            let text = text(self);
            self.sql += &text;
        }
    }

    fn table(&mut self, number: usize, is_masked: bool) {
        let object = &*format!("table t{number}");
        let (first, second) = (self.comment(object), self.comment(object));
        self.sql += &format!("CREATE{first}TABLE t{number} (id INTEGER PRIMARY KEY,{second}secret TEXT");
        self.maybe(2, |it| format!(" DEFAULT {}", it.literal(object, is_masked)));
        self.maybe(3, |it| format!(" CHECK (secret <> {})", it.literal(object, true)));
        let comment = self.comment(object);
        self.sql += &format!(",{comment}\"two words\" TEXT COLLATE \"NOCASE\"");
        self.maybe(2, |it| format!(" DEFAULT [{}]", it.add(object, is_masked, false)));
        self.maybe(3, |it| {
            format!(
                " CONSTRAINT \"a name\" CHECK (\"two words\" NOT LIKE {} ESCAPE '!')",
                it.literal(object, true)
            )
        });
        self.maybe(3, |it| format!(", made TEXT AS (secret || {})", it.literal(object, false)));
        self.maybe(3, |it| format!(", CHECK (id > 0 OR \"two words\" IN ({}))", it.literal(object, true)));
        let comment = self.comment(object);
        self.sql += &format!("{comment});\n");
        let _ = writeln!(
            self.sql,
            "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 30)
             INSERT INTO t{number} (secret, \"two words\") SELECT 's' || i, 'w' || i FROM n;"
        );
        if self.rng.u8(0..3) == 0 {
            // Rows from before the column take their value from its DEFAULT. In a masked table, the copy has this value in all of these
            // rows, because the column has no mask, so it must not be a canary.
            let default = if is_masked { "'late'".to_owned() } else { self.literal(object, false) };
            let _ = writeln!(self.sql, "ALTER TABLE t{number} ADD COLUMN late TEXT DEFAULT {default};");
        }
    }

    fn dependents(&mut self, number: usize) {
        let view = &*format!("view v{number}");
        self.maybe(2, |it| {
            let (comment, literal) = (it.comment(view), it.literal(view, true));
            format!("CREATE VIEW v{number} AS{comment}SELECT id, \"two words\" AS \"an alias\", {literal} AS x FROM t{number};\n")
        });
        let index = &*format!("index i{number}");
        self.maybe(2, |it| {
            let (comment, literal) = (it.comment(index), it.literal(index, true));
            format!(
                "CREATE INDEX i{number} ON t{number} (secret,{comment}upper({literal} || \"two words\"));\n"
            )
        });
        let partial = &*format!("index p{number}");
        self.maybe(2, |it| {
            format!(
                "CREATE INDEX p{number} ON t{number} (id) WHERE secret <> {};\n",
                it.literal(partial, true)
            )
        });
        let unique = &*format!("index u{number}");
        self.maybe(3, |it| {
            format!(
                "CREATE UNIQUE INDEX u{number} ON t{number} (id) WHERE secret <> {};\n",
                it.literal(unique, false)
            )
        });
        let trigger = &*format!("trigger g{number}");
        self.maybe(2, |it| {
            let (comment, when) = (it.comment(trigger), it.literal(trigger, true));
            let (first, second) = (it.literal(trigger, true), it.literal(trigger, true));
            format!(
                "CREATE TRIGGER g{number} AFTER DELETE ON t{number} WHEN old.secret <> {when} BEGIN{comment}UPDATE OR IGNORE t{number} SET \"two words\" = {first}; SELECT coalesce(old.id, {second}) WHERE 0; END;\n"
            )
        });
    }
}

fn contains(bytes: &[u8], text: &str, utf16: bool) -> bool {
    let needle: Vec<u8> = match utf16 {
        true => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        false => text.as_bytes().to_vec(),
    };
    bytes.windows(needle.len()).any(|window| window == needle)
}

#[test]
fn schema_literals_are_absent_from_a_masked_copy_or_reported_with_their_place() {
    let (mut in_comments, mut named, mut stripped) = (0, 0, 0);
    for seed in 0..tries(25, 200, 1000) {
        let mut planting = Planting { rng: Rng::with_seed(seed), planted: Vec::new(), sql: String::new() };
        let utf16 = planting.rng.u8(0..6) == 0;
        if utf16 {
            planting.sql += "PRAGMA encoding = 'UTF-16le';\n";
        }
        let tables = planting.rng.usize(1..4);
        for number in 0..tables {
            planting.table(number, number == 0);
            planting.dependents(number);
        }
        let lab = Lab::new(&planting.sql);
        let all = "SELECT coalesce(group_concat(sql), '') FROM sqlite_schema";
        let stored: String = lab.old().query_row(all, [], |row| row.get(0)).unwrap();
        for strips in [false, true] {
            let _ = std::fs::remove_file(lab.path("copy.db"));
            let masks = masking("CREATE TABLE t0 (secret /* gen: shape() */)").strip_literals(strips);
            let copy = lab.copy(masks);
            let plan = copy.prepare(&Context::default()).unwrap().plan().to_string();
            let report = copy.run().unwrap_or_else(|error| panic!("seed {seed}: {error}\n{}", planting.sql));
            lab.assert_sound();
            let mask = report.mask.clone().unwrap();
            let said = format!("{report:?} {plan}");
            let bytes = std::fs::read(lab.path("copy.db")).unwrap();
            for Planted { canary, object, is_strippable, is_comment } in &planting.planted {
                let is_named = mask.literals.iter().any(|literal| literal.object == *object);
                let about =
                    format!("seed {seed}, strips {strips}: {canary} of {object}\n{}\n{plan}", planting.sql);
                assert!(!said.contains(canary), "{about}");
                match contains(&bytes, canary, utf16) {
                    true => {
                        assert!(is_named && !is_comment && !(strips && *is_strippable), "{about}");
                        named += 1;
                    }
                    // SQLite itself drops comments behind CREATE, so the source does not have this canary either.
                    false if *is_comment && !stored.contains(canary.as_str()) => {}
                    false if *is_comment => {
                        assert!(mask.comments.contains(object), "{about}");
                        in_comments += 1;
                    }
                    false => {
                        assert!(strips, "{about}");
                        stripped += 1;
                    }
                }
            }
            // Rows keep their values, also the values that come from a DEFAULT.
            for number in 0..tables {
                let sql = format!("SELECT \"two words\" FROM t{number} ORDER BY id");
                assert_eq!(texts(&lab.old(), &sql), texts(&lab.new_one(), &sql));
                let late = format!("SELECT late FROM t{number} ORDER BY id");
                if lab.old().prepare(&late).is_ok() {
                    assert_eq!(texts(&lab.old(), &late), texts(&lab.new_one(), &late), "seed {seed}");
                }
            }
            let new = lab.new_one();
            for number in 0..tables {
                let has_view = count(
                    &lab.old(),
                    &format!("SELECT count(*) FROM sqlite_schema WHERE name = 'v{number}'"),
                );
                if has_view > 0 {
                    assert_eq!(
                        count(&new, &format!("SELECT count(\"an alias\") FROM v{number}")),
                        30,
                        "seed {seed}"
                    );
                }
            }
        }
    }
    assert!(in_comments > 50 && named > 50 && stripped > 50, "{in_comments} {named} {stripped}");
}

#[test]
fn a_masked_copy_removes_comments_from_the_schema_and_keeps_the_rest_of_its_text() {
    let lab = Lab::new(
        "CREATE TABLE t (a TEXT, -- of Ann Meier
           b TEXT /* Bob */ NOT NULL DEFAULT 'x -- y');
         CREATE VIEW v AS SELECT a FROM t -- for Cid
         ;
         INSERT INTO t VALUES ('a', 'b');",
    );
    let report = lab.mask("CREATE TABLE t (a /* gen: shape() */)");
    let sql = "SELECT group_concat(sql, ';') FROM sqlite_schema";
    let text: String = lab.new_one().query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(
        text,
        "CREATE TABLE t (a TEXT,\n           b TEXT  NOT NULL DEFAULT 'x -- y');CREATE VIEW v AS SELECT a FROM t"
    );
    assert_eq!(report.mask.unwrap().comments, ["table t", "view v"]);
}

#[test]
fn a_default_that_rows_from_before_the_column_need_is_kept_and_reported() {
    let lab = Lab::new(
        "CREATE TABLE kept (a TEXT); INSERT INTO kept VALUES ('1'); ALTER TABLE kept ADD COLUMN b TEXT DEFAULT \"Bartholomew\";
         CREATE TABLE free (a TEXT, b TEXT DEFAULT \"Bartholomew\"); INSERT INTO free VALUES ('1', '2');
         CREATE TABLE masked (a TEXT); INSERT INTO masked VALUES ('1');
         ALTER TABLE masked ADD COLUMN b TEXT DEFAULT 'Quarternook';",
    );
    let report =
        lab.copy(masking("CREATE TABLE masked (a /* gen: shape() */)").strip_literals(true)).run().unwrap();
    lab.assert_sound();
    let mask = report.mask.unwrap();
    let named: Vec<&str> = mask.literals.iter().map(|literal| &*literal.object).collect();
    assert_eq!(named, ["table kept"]);
    let lost: Vec<&str> = mask.stripped.iter().map(|text| &*text.object).collect();
    assert_eq!(lost, ["table free", "table masked"]);
    for table in ["kept", "masked"] {
        let sql = format!("SELECT b FROM {table}");
        assert_eq!(texts(&lab.old(), &sql), texts(&lab.new_one(), &sql));
    }
    let new = lab.new_one();
    new.execute_batch("INSERT INTO free (a) VALUES ('3')").unwrap();
    assert_eq!(count(&new, "SELECT count(*) FROM free WHERE b = ''"), 1);
}
