//! Tests of columns that depend on each other and on rows of other tables.

use super::*;

/// Returns the rows of table `number`. `all` has the row count of each table.
fn rows_of(sql: &str, number: usize, all: &[u64]) -> Vec<Vec<Owned>> {
    let spec = Spec::new(&Schema::parse(sql.to_owned(), Path::new("s.sql")).unwrap())
        .unwrap_or_else(|error| panic!("{error}: {sql}"));
    let mut source = spec.tables[number].source_among(7, all, 0, all[number]).unwrap();
    let mut rows = Vec::new();
    while let Some(mut part) = source.next_part().unwrap() {
        part.decode(&mut |batch: &Batch<'_>| {
            for row in 0..batch.rows {
                rows.push(batch.columns.iter().map(|column| column.get(row).into()).collect());
            }
            Ok(())
        })
        .unwrap();
    }
    rows
}

#[test]
fn references_name_existing_rows_and_columns_of_a_parent_come_from_one_row() {
    let sql = "CREATE TABLE p (id INTEGER PRIMARY KEY /* gen: permutation(1000, 1999) */, city TEXT, at TEXT, -- gen: date('2020-01-01', '2020-12-31')
          q INTEGER REFERENCES p);
        CREATE TABLE c (p INTEGER REFERENCES p, -- gen: null(0.2, ref(p.id, zipf(1.1)))
          city TEXT, -- gen: p.city
          after TEXT, -- gen: date(p.at, '2021-01-01')
          label TEXT, -- gen: template('{p}/{{{city}}}')
          grand, -- gen: p.q.city
          n INT, -- gen: case(when p is null then -1 else p * 2 + 1)
          s, -- gen: sql('coalesce(p, 0) || upper(city)')
          up TEXT -- gen: upper(city)
        )";
    let sql = sql.replace("-- gen: p.q.city", "-- gen: p.q");
    let parents = rows_of(&sql, 0, &[1000, 5000]);
    let by_id: HashMap<String, &Vec<Owned>> =
        parents.iter().map(|row| (format!("{:?}", row[0]), row)).collect();
    assert_eq!(by_id.len(), 1000);
    // A row refers to an earlier row of the same table.
    for (index, row) in parents.iter().enumerate().skip(1) {
        let position = parents.iter().position(|other| other[0] == row[3]);
        assert!(position.is_some_and(|position| position < index));
    }
    assert_eq!(parents[0][3], Owned::Null);
    let children = rows_of(&sql, 1, &[1000, 5000]);
    let mut orphans = 0;
    for row in &children {
        let text = |value: &Owned| match value {
            Owned::Text(text) => text.clone(),
            other => format!("{other:?}"),
        };
        if row[0] == Owned::Null {
            orphans += 1;
            assert_eq!(row[1..3], [Owned::Null, Owned::Null]);
            assert_eq!((&row[3], &row[5]), (&Owned::Text("/{}".to_owned()), &Owned::Int(-1)));
            continue;
        }
        let parent = by_id[&format!("{:?}", row[0])];
        let Owned::Int(id) = row[0] else { panic!("{row:?}") };
        assert_eq!((&row[1], &row[4]), (&parent[1], &parent[3]));
        assert!(text(&row[2]) >= text(&parent[2]) && text(&row[2]).as_str() <= "2021-01-01");
        let city = text(&row[1]);
        assert_eq!(text(&row[3]), format!("{id}/{{{city}}}"));
        assert_eq!(row[5], Owned::Int(2 * id + 1));
        assert_eq!(text(&row[6]), format!("{id}{}", city.to_uppercase()));
        assert_eq!(text(&row[7]), city.to_uppercase());
    }
    assert!((700..1300).contains(&orphans), "{orphans}");
}

#[test]
fn columns_in_a_distinct_group_have_each_combination_once() {
    let sql = "CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE b (id INTEGER PRIMARY KEY);
        CREATE TABLE ab (a REFERENCES a, b REFERENCES b, k INT CHECK (k BETWEEN 1 AND 5), PRIMARY KEY (a, b, k)) WITHOUT ROWID";
    let mut rows: Vec<String> = rows_of(sql, 2, &[6, 7, 210]).iter().map(|row| format!("{row:?}")).collect();
    rows.sort();
    rows.dedup();
    assert_eq!(rows.len(), 210);
}

#[test]
fn ascending_values_are_sorted_and_reach_both_ends() {
    let sql =
        "CREATE TABLE t (a INTEGER PRIMARY KEY, at TEXT -- gen: ascending(date('2020-01-01', '2020-12-31'))
        )";
    for count in [1, 3, 100, 50_000] {
        let days: Vec<String> = rows_of(sql, 0, &[count]).iter().map(|row| format!("{:?}", row[1])).collect();
        assert!(days.is_sorted());
        if count == 50_000 {
            assert!(days[0].contains("2020-01-01") && days[49_999].contains("2020-12-31"));
        }
    }
}

#[test]
fn a_column_that_depends_on_itself_is_refused_with_the_cycle() {
    for (sql, place, hint) in [
        (
            "CREATE TABLE t (a, -- gen: b + 1\n b, -- gen: c\n c -- gen: template('{a}')\n)",
            "s.sql:3:23: t.a depends on itself",
            "t.a needs t.b needs t.c needs t.a",
        ),
        ("CREATE TABLE t (a -- gen: a\n)", "s.sql:1:27: t.a depends on itself", "t.a needs t.a"),
        ("CREATE TABLE t (a -- gen: sql('a + 1')\n)", "s.sql:1:31: t.a depends on itself", "t.a needs t.a"),
    ] {
        let error = Spec::new(&Schema::parse(sql.to_owned(), Path::new("s.sql")).unwrap()).unwrap_err();
        assert_eq!((error.without_hint().as_str(), error.hint_text().as_deref()), (place, Some(hint)));
    }
}
