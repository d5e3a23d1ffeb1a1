#![allow(clippy::all, missing_docs, unused)]
use rusqlite::{Connection, params, types::ToSql};
use sqluice::rows::{self, Column, Rows};
use std::time::Instant;

fn mixed(n: u64) -> u64 {
    let z = n.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
struct E {
    key: String,
    email: String,
    age: i64,
    json: String,
}
fn entity(i: u64, gen_: u64, pad: usize) -> E {
    let r = mixed(i * 31 + gen_);
    let email = format!("p{}@example.com", r % 1_000_000_007);
    let age = (r >> 40) as i64 % 100;
    let key = format!("person-{:08}", i);
    let json = format!(
        r#"{{"id":"{key}","email":"{email}","age":{age},"name":"Name {}","city":"Oslo","visits":{},"notes":"{}"}}"#,
        r % 1000,
        gen_,
        "x".repeat(pad)
    );
    E { key, email, age, json }
}
fn open(name: &str, schema: &str) -> Connection {
    let p = format!("/tmp/wt-entity/{name}.db");
    for s in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{p}{s}"));
    }
    let db = Connection::open(&p).unwrap();
    db.execute_batch("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-65536").unwrap();
    rows::register(&db).unwrap();
    db.execute_batch(schema).unwrap();
    db
}
const L1: &str = "CREATE TABLE person(key TEXT NOT NULL, email, age, value TEXT NOT NULL); CREATE UNIQUE INDEX person_key ON person(key); CREATE INDEX person_email ON person(email); CREATE INDEX person_age ON person(age)";
const PK: &str = "CREATE TABLE person(key TEXT PRIMARY KEY NOT NULL, email, age, value TEXT NOT NULL); CREATE INDEX person_email ON person(email); CREATE INDEX person_age ON person(age)";
const WR: &str = "CREATE TABLE person(key TEXT PRIMARY KEY NOT NULL, email, age, value TEXT NOT NULL) WITHOUT ROWID; CREATE INDEX person_email ON person(email); CREATE INDEX person_age ON person(age)";
const PUB: &str = "CREATE TABLE entity(type TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY(type,key)); CREATE TABLE idx(type TEXT NOT NULL, entity TEXT NOT NULL, field TEXT NOT NULL, value, PRIMARY KEY(type, entity, field)); CREATE INDEX idx_v ON idx(type, field, value)";
const UPSERT: &str =
    "ON CONFLICT(key) DO UPDATE SET email=excluded.email, age=excluded.age, value=excluded.value";
fn published(db: &Connection, es: &[E]) {
    db.execute_batch("BEGIN IMMEDIATE").unwrap();
    {
        let mut a = db.prepare("REPLACE INTO entity VALUES('person',?1,?2)").unwrap();
        let mut d = db.prepare("DELETE FROM idx WHERE type='person' AND entity=?1").unwrap();
        let mut i = db.prepare("REPLACE INTO idx VALUES('person',?1,?2,?3)").unwrap();
        for e in es {
            a.execute(params![e.key, e.json]).unwrap();
            d.execute(params![e.key]).unwrap();
            i.execute(params![e.key, "email", e.email]).unwrap();
            i.execute(params![e.key, "age", e.age]).unwrap();
        }
    }
    db.execute_batch("COMMIT").unwrap();
}
fn nstat(db: &Connection, es: &[E], sql: &str) {
    db.execute_batch("BEGIN IMMEDIATE").unwrap();
    {
        let mut a = db.prepare(sql).unwrap();
        for e in es {
            a.execute(params![e.key, e.email, e.age, e.json]).unwrap();
        }
    }
    db.execute_batch("COMMIT").unwrap();
}
fn to_rows(es: &[E]) -> Rows<'_> {
    let k: Vec<&str> = es.iter().map(|e| &*e.key).collect();
    let m: Vec<&str> = es.iter().map(|e| &*e.email).collect();
    let a: Vec<i64> = es.iter().map(|e| e.age).collect();
    let j: Vec<&str> = es.iter().map(|e| &*e.json).collect();
    use sqluice::batch::Value as V;
    Rows::new([
        k.iter().map(|s| V::Text(s.as_bytes())).collect(),
        m.iter().map(|s| V::Text(s.as_bytes())).collect(),
        a.into(),
        j.iter().map(|s| V::Text(s.as_bytes())).collect(),
    ])
    .unwrap()
}
fn array(db: &Connection, es: &[E], sql: &str, drop: &[&str], create: &[&str]) {
    let t0 = cpu();
    db.execute_batch("BEGIN IMMEDIATE").unwrap();
    for d in drop {
        db.execute_batch(d).unwrap();
    }
    {
        let mut a = db.prepare(sql).unwrap();
        for c in es.chunks(4096) {
            let r = to_rows(c);
            r.lend(&mut a, 1, |s| s.execute()).unwrap().unwrap();
        }
    }
    let t1 = cpu();
    for d in create {
        db.execute_batch(d).unwrap();
    }
    let t2 = cpu();
    db.execute_batch("COMMIT").unwrap();
    if std::env::var("PH").is_ok() {
        println!(
            "  rows {:.1} create {:.1} commit {:.1}",
            (t1 - t0) * 1e3,
            (t2 - t1) * 1e3,
            (cpu() - t2) * 1e3
        );
    }
}
fn multi(db: &Connection, es: &[E], n: usize) {
    db.execute_batch("BEGIN IMMEDIATE").unwrap();
    {
        let sql = |n: usize| format!("INSERT INTO person VALUES {} {UPSERT}", vec!["(?,?,?,?)"; n].join(","));
        let mut a = db.prepare(&sql(n)).unwrap();
        for c in es.chunks_exact(n) {
            let mut p = 1;
            for e in c {
                a.raw_bind_parameter(p, &e.key).unwrap();
                a.raw_bind_parameter(p + 1, &e.email).unwrap();
                a.raw_bind_parameter(p + 2, e.age).unwrap();
                a.raw_bind_parameter(p + 3, &e.json).unwrap();
                p += 4;
            }
            a.raw_execute().unwrap();
        }
    }
    db.execute_batch("COMMIT").unwrap();
}
fn cpu() -> f64 {
    std::fs::read_to_string("/proc/thread-self/schedstat")
        .unwrap()
        .split_whitespace()
        .next()
        .unwrap()
        .parse::<f64>()
        .unwrap()
        / 1e9
}
fn main() {
    let n: u64 = std::env::args().nth(1).map_or(10_000, |s| s.parse().unwrap());
    let pad: usize = std::env::args().nth(2).map_or(20, |s| s.parse().unwrap());
    let perm: bool = std::env::args().nth(3).is_some();
    let mk = |g: u64| {
        let mut v: Vec<E> = (0..n).map(|i| entity(i, g, pad)).collect();
        if perm {
            v.sort_by_key(|e| mixed(e.key.bytes().fold(7, |a, b| a.wrapping_mul(31) + b as u64)));
        }
        v
    };
    let first = mk(1);
    let second = mk(2);
    let third: Vec<E> = mk(1)
        .into_iter()
        .zip(mk(3))
        .map(|(a, b)| {
            let json = a.json.replacen("\"visits\":1", "\"visits\":9", 1);
            E { json, ..a }
        })
        .collect();
    println!("json {} bytes", first[0].json.len());
    let ups = format!("INSERT INTO person VALUES(?1,?2,?3,?4) {UPSERT}");
    let arr = format!("INSERT INTO person SELECT c1,c2,c3,c4 FROM sqluice_rows(?1) WHERE true {UPSERT}");
    let arrw = format!("{arr} WHERE value<>excluded.value");
    let plain = "INSERT INTO person SELECT c1,c2,c3,c4 FROM sqluice_rows(?1)".to_string();
    let rep = "REPLACE INTO person VALUES(?1,?2,?3,?4)".to_string();
    let d2 = ["DROP INDEX person_email", "DROP INDEX person_age"];
    let c2 = ["CREATE INDEX person_email ON person(email)", "CREATE INDEX person_age ON person(age)"];
    let d3 = ["DROP INDEX person_key", d2[0], d2[1]];
    let c3 = ["CREATE UNIQUE INDEX person_key ON person(key)", c2[0], c2[1]];
    let ways: Vec<(&str, &str, Box<dyn Fn(&Connection, &[E], bool)>)> = vec![
        ("published n", PUB, Box::new(|d, e, _| published(d, e))),
        ("L1 n upsert", L1, Box::new(|d, e, _| nstat(d, e, &ups))),
        ("PK n upsert", PK, Box::new(|d, e, _| nstat(d, e, &ups))),
        ("L1 n replace", L1, Box::new(|d, e, _| nstat(d, e, &rep))),
        ("WR n upsert", WR, Box::new(|d, e, _| nstat(d, e, &ups))),
        ("L1 multi 50", L1, Box::new(|d, e, _| multi(d, e, 50))),
        ("L1 array", L1, Box::new(|d, e, _| array(d, e, &arr, &[], &[]))),
        (
            "L1 array dropidx",
            L1,
            Box::new(
                |d, e, first| if first { array(d, e, &plain, &d3, &c3) } else { array(d, e, &arr, &d2, &c2) },
            ),
        ),
        ("WR array", WR, Box::new(|d, e, _| array(d, e, &arr, &[], &[]))),
        ("WR array dropidx", WR, Box::new(|d, e, first| array(d, e, &arr, &d2, &c2))),
    ];
    let mut res = vec![[const { Vec::<f64>::new() }; 4]; ways.len()];
    let only = std::env::var("ONLY").unwrap_or_default();
    let reps: usize = std::env::var("REPS").map_or(5, |s| s.parse().unwrap());
    for _ in 0..reps {
        for (w, (name, schema, f)) in ways.iter().enumerate() {
            if !name.contains(&only) {
                for k in 0..4 {
                    res[w][k].push(0.0)
                }
                continue;
            }
            let db = open("p", schema);
            for (k, (es, is_first)) in
                [(&first, true), (&second, false), (&first, false), (&third, false)].iter().enumerate()
            {
                let t = cpu();
                f(&db, es, *is_first);
                res[w][k].push((cpu() - t) * 1e3);
            }
        }
    }
    println!("{:20} {:>10} {:>10} {:>10} {:>10}", "way", "first", "changed", "changed2", "valueonly");
    for (w, (name, ..)) in ways.iter().enumerate() {
        print!("{name:20}");
        for k in 0..4 {
            let mut v = res[w][k].clone();
            v.sort_by(f64::total_cmp);
            print!(" {:>10.1}", v[v.len() / 2]);
        }
        println!();
    }
}
