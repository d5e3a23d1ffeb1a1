//! A command that was built without a feature names the feature where it is needed, and leaves nothing. Each test runs in builds without
//! its feature: `cargo test -p sqluice-cli --no-default-features --test command lacking`.

/// Asserts that the command with these files and arguments fails because the build lacks `feature`.
#[cfg(not(all(
    feature = "avro",
    feature = "bzip2-xz",
    feature = "cloud",
    feature = "lab",
    feature = "mysql",
    feature = "parquet",
    feature = "postgres",
    feature = "spreadsheets",
    feature = "tpch"
)))]
#[track_caller]
fn lacks(files: &[(&str, &str)], args: &str, what: &str, feature: &str) {
    let message = format!(
        "error: {what}

hint: build it with the feature {feature}: `make install` in its repository installs the command with every feature"
    );
    crate::transcript::fails(files, args, 2, &message);
}

#[cfg(not(feature = "cloud"))]
#[test]
fn urls_of_files_and_databases_need_the_feature_cloud() {
    let what = |url: &str| format!("{url} is a URL, and this build reads and writes only files");
    for url in
        ["s3://bucket/in.csv", "gs://bucket/*.csv", "az://container/in.csv", "https://example.org/in.csv"]
    {
        lacks(&[], &format!("load x.db '{url}'"), &what(url), "cloud");
    }
    lacks(&[("in.csv", "a\n1\n")], "load s3://bucket/x.db in.csv", &what("s3://bucket/x.db"), "cloud");
    lacks(&[], "generate s3://bucket/x.db --preset user --rows 3", &what("s3://bucket/x.db"), "cloud");
    lacks(&[], "export s3://bucket/x.db --to x.csv", &what("s3://bucket/x.db"), "cloud");
    lacks(&[], "merge x.db 's3://bucket/*.db'", &what("s3://bucket/*.db"), "cloud");
    lacks(&[], "copy https://example.org/x.db?key=secret y.db", &what("https://example.org/x.db"), "cloud");
}

#[cfg(not(feature = "postgres"))]
#[test]
fn databases_of_postgresql_need_the_feature_postgres() {
    for url in ["postgres://ann@localhost:1/shop", "postgresql://ann@localhost:1/shop"] {
        let what = format!("{url} is a database of a server, which this build does not read");
        lacks(&[], &format!("load x.db {url}"), &what, "postgres");
    }
}

#[cfg(not(feature = "mysql"))]
#[test]
fn databases_of_mysql_need_the_feature_mysql() {
    for url in ["mysql://ann@localhost:1/shop", "mariadb://ann@localhost:1/shop"] {
        let what = format!("{url} is a database of a server, which this build does not read");
        lacks(&[], &format!("load x.db {url}"), &what, "mysql");
    }
}

#[cfg(not(feature = "parquet"))]
#[test]
fn parquet_and_arrow_files_need_the_feature_parquet_whatever_they_are_called() {
    for (name, content, words) in [
        ("in.parquet", "a\n1\n", "Parquet"),
        ("in.pq", "PAR1", "Parquet"),
        ("in.csv", "PAR1 a,b\n1,2\n", "Parquet"),
        ("in", "PARE a,b\n1,2\n", "Parquet"),
        ("in.arrow", "a\n1\n", "Arrow IPC"),
        ("in.txt", "ARROW1\0\0", "Arrow IPC"),
    ] {
        let what = format!("{name} is {words}, which this build does not read");
        lacks(&[(name, content)], &format!("load x.db {name}"), &what, "parquet");
    }
    let what = "in.csv is Parquet, which this build does not read";
    lacks(&[("in.csv", "a\n1\n")], "load x.db in.csv --format parquet", what, "parquet");
}

#[cfg(not(feature = "avro"))]
#[test]
fn avro_files_need_the_feature_avro_whatever_they_are_called() {
    for (name, content) in [("in.avro", "a\n1\n"), ("in.csv", "Obj\u{1}a,b\n1,2\n")] {
        let what = format!("{name} is Avro, which this build does not read");
        lacks(&[(name, content)], &format!("load x.db {name}"), &what, "avro");
    }
    let what = "in.csv is Avro, which this build does not read";
    lacks(&[("in.csv", "a\n1\n")], "load x.db in.csv --format avro", what, "avro");
}

#[cfg(not(feature = "spreadsheets"))]
#[test]
fn workbooks_need_the_feature_spreadsheets_whatever_they_are_called() {
    for name in ["in.xlsx", "in.csv"] {
        let what = format!("{name} is an Excel workbook, which this build does not read");
        let head = "PK\u{3}\u{4}\u{14}xl/workbook.xml";
        lacks(&[(name, head)], &format!("load x.db {name}"), &what, "spreadsheets");
    }
}

#[cfg(not(feature = "bzip2-xz"))]
#[test]
fn bzip2_data_needs_the_feature_bzip2_xz_whatever_the_file_is_called() {
    for name in ["in.csv.bz2", "in.csv"] {
        let what = format!("{name} is compressed with bzip2, which this build does not read");
        lacks(&[(name, "BZh91AY&SY")], &format!("load x.db {name}"), &what, "bzip2-xz");
    }
}

#[cfg(not(feature = "parquet"))]
#[test]
fn an_export_to_parquet_or_arrow_needs_the_feature_parquet() {
    use crate::support::{folder, run};

    let folder = folder();
    run(folder.path(), ["generate", "x.db", "--preset", "integers", "--rows", "3"]).ok();
    for (name, words) in [("out.parquet", "Parquet"), ("out.arrow", "Arrow IPC")] {
        let says = format!("error: this build does not write {words}");
        run(folder.path(), ["export", "x.db", "--to", name]).failed(2, &says);
        assert!(!folder.path().join(name).exists());
    }
}

#[cfg(not(feature = "lab"))]
#[test]
fn lab_and_advise_need_the_feature_lab() {
    lacks(&[], "lab", "this build has no command lab", "lab");
    lacks(&[], "lab --scale tiny transaction --export-json lab.json", "this build has no command lab", "lab");
    lacks(&[("x.sql", "CREATE TABLE t (a)")], "advise x.sql", "this build has no command advise", "lab");
}

#[cfg(not(feature = "tpch"))]
#[test]
fn the_preset_tpch_needs_the_feature_tpch() {
    lacks(&[], "generate x.db --preset tpch", "this build does not have the preset tpch", "tpch");
    lacks(
        &[],
        "generate x.db --preset tpch --scale 0.01",
        "this build does not have the preset tpch",
        "tpch",
    );
}
