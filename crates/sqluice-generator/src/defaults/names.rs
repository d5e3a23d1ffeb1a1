//! The default expressions of column names: `email`, `first_name`, `price`, `created_at`.
//!
//! A name is split into words before a capital letter that follows a small one, and at characters other than letters and digits. The
//! longest known sequence of words at the end decides: in `billing_city` and `BillingCity` it is `city`, also with an `s` at its end. For a
//! text column `name`, the table decides, and for names such as `supplier_name` the words before.

use sqluice_core::affinity::Affinity;
use sqluice_core::schema::Column;

const TEXTS: &[(&str, &str)] = &[
    ("firstname givenname forename fname", "first_name()"),
    ("lastname surname familyname lname", "last_name()"),
    ("fullname displayname contactname personname author employee", "name()"),
    ("username login userlogin nickname nick handle screenname", "username()"),
    ("email mail emailaddress", "email()"),
    ("phone phonenumber mobile telephone tel fax cell", "phone()"),
    (
        "company companyname organization organisation employer supplier vendor manufacturer publisher brand",
        "company()",
    ),
    ("job jobtitle position occupation profession", "job()"),
    ("product productname item itemname", "product()"),
    ("street streetaddress addressline address1 addressline1", "street()"),
    ("address2 addressline2", "template('Apartment {int(1, 99)}')"),
    ("address", "address()"),
    ("city town cityname", "city()"),
    ("state province region county statename", "state()"),
    ("country nation countryname nationality", "country()"),
    ("countrycode iso2", "country_code()"),
    ("zip zipcode postcode postalcode postal", "digits(5)"),
    ("url uri link website homepage web href", "url()"),
    ("domain host hostname site", "domain()"),
    ("ip ipaddress ipv4 remoteaddr", "ip()"),
    ("mac macaddress", "mac()"),
    ("uuid guid", "uuid4()"),
    ("title subject headline caption", "title()"),
    ("description descr summary comment comments note notes remark remarks review message", "sentence()"),
    ("body content biography bio article text", "paragraph()"),
    ("status", "choice('active': 6, 'pending': 2, 'closed')"),
    ("gender sex", "choice('female', 'male', 'other': 0.05)"),
    ("currency currencycode", "choice('EUR', 'USD', 'GBP', 'JPY', 'CHF')"),
    ("language lang locale languagecode", "choice('en', 'de', 'fr', 'es', 'it', 'ja')"),
    ("color colour", "choice('black', 'white', 'red', 'green', 'blue', 'yellow', 'grey')"),
    ("size", "choice('S', 'M', 'L', 'XL')"),
    ("unit", "choice('piece', 'kg', 'm', 'l')"),
    ("rating", "choice('G', 'PG', 'PG-13', 'R', 'NC-17')"),
    ("genre category", "word()"),
    ("sku code", "template('{upper(left(word(), 2))}-{digits(6)}')"),
    ("isbn barcode ean", "digits(13)"),
    ("slug", "template('{word()}-{word()}-{hex(6)}')"),
    ("passwordhash password hash digest checksum sha256 token secret apikey sessionid", "hex(64)"),
    ("useragent", "choice('Mozilla/5.0 (X11; Linux x86_64)', 'Mozilla/5.0 (Windows NT 10.0)', 'curl/8.5.0')"),
    ("mimetype contenttype", "choice('text/html', 'image/png', 'application/json')"),
    ("filename file", "template('{word()}-{digits(3)}.{choice(''txt'', ''png'', ''pdf'')}')"),
    ("path filepath", "template('/{word()}/{word()}-{digits(3)}.{choice(''txt'', ''png'', ''pdf'')}')"),
    ("version", "template('{int(0, 9)}.{int(0, 20)}.{int(0, 9)}')"),
    ("tag keyword label", "word()"),
    (
        "json metadata meta properties attributes payload settings options extra",
        "json({'id': int(1, 1000), 'tags': [word(), word()]})",
    ),
    ("timezone tz", "choice('UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Tokyo')"),
    ("composer artist director actor", "name()"),
    ("birthday birthdate dateofbirth dob", "date('1945-01-01', '1996-12-31')"),
    ("date day hiredate", DAYS),
    (
        "at timestamp datetime created updated modified createdat updatedat deletedat time lastupdate",
        "timestamp('2015-01-01 00:00:00', '2025-12-31 23:59:59')",
    ),
];

const INTEGERS: &[(&str, &str)] = &[
    ("age", "int(18, 90)"),
    ("birthyear yearofbirth", "int(1945, 1996)"),
    ("year releaseyear", "int(1970, 2025)"),
    ("month", "int(1, 12)"),
    ("day", "int(1, 28)"),
    ("hour", "int(0, 23)"),
    ("minute second", "int(0, 59)"),
    ("weekday dayofweek", "int(0, 6)"),
    ("quantity qty copies", "int(1, 10)"),
    ("price cost fee salary amount total balance revenue cents", "int(100, 100000)"),
    ("percent percentage discount progress", "int(0, 100)"),
    ("rating stars score", "int(1, 5)"),
    ("priority level rank", "int(1, 5)"),
    ("zip zipcode postcode postalcode", "int(10000, 99999)"),
    ("port", "int(1024, 65535)"),
    ("duration seconds length milliseconds", "int(1, 600000)"),
    ("bytes filesize size", "int(1, 10000000)"),
    ("width height", "int(1, 4000)"),
    ("stock inventory", "int(0, 500)"),
    ("version revision", "int(1, 20)"),
    (
        "active enabled deleted archived published verified visible locked flag admin read done completed",
        "choice(0, 1)",
    ),
    ("at timestamp datetime date created updated modified time", SECONDS),
];

/// The expression for days of 2015 to 2025, the years in which the dates and times of known column names lie, except births.
pub(super) const DAYS: &str = "date('2015-01-01', '2025-12-31')";

/// The expression for seconds since 1970 that lie in the years 2015 to 2025.
const SECONDS: &str = "int(1420070400, 1767225599)";

const REALS: &[(&str, &str)] = &[
    ("lat latitude", "decimal(-90, 90, 6)"),
    ("lon lng longitude", "decimal(-180, 180, 6)"),
    ("price unitprice cost fee", "decimal(1, 1000, 2)"),
    ("amount total subtotal balance revenue", "decimal(1, 10000, 2)"),
    ("salary income", "decimal(20000, 120000, 2)"),
    ("tax discount rate share ratio probability", "decimal(0, 0.5, 2)"),
    ("percent percentage", "decimal(0, 100, 1)"),
    ("rating score", "decimal(1, 5, 1)"),
    ("weight", "decimal(0.1, 100, 2)"),
    ("height width length depth", "decimal(1, 300, 1)"),
    ("temperature", "decimal(-20, 40, 1)"),
    ("quantity qty", "int(1, 10)"),
];

/// The names of tables of people and of other named things, with an expression for a column called `name`.
const NAMED: &[(&str, &str)] = &[
    (
        "customer client user person people employee author actor artist contact member student teacher staff patient driver \
         passenger guest owner manager musician reader account",
        "name()",
    ),
    (
        "company supplier vendor manufacturer publisher brand shipper trader organization carrier bank",
        "company()",
    ),
    ("product item article part", "product()"),
    ("city town", "city()"),
    ("country nation", "country()"),
    ("state region province", "state()"),
    ("tag label", "word()"),
];

/// Returns the expression that the name of a column suggests, if it fits the column's type.
pub fn expression(table: &str, column: &Column) -> Option<String> {
    let words = words(&column.name);
    let untyped = column.declared_type.is_empty();
    let found = match column.affinity {
        Affinity::Text => text(table, &words),
        Affinity::Blob if untyped => text(table, &words),
        Affinity::Integer if matches!(words.first().map(String::as_str), Some("is" | "has" | "can")) => {
            Some("choice(0, 1)")
        }
        Affinity::Integer => lookup(INTEGERS, &words),
        Affinity::Real => lookup(REALS, &words),
        Affinity::Numeric if !column.declared_type.to_ascii_uppercase().contains("DATE") => {
            lookup(REALS, &words)
        }
        _ => None,
    };
    found.map(str::to_owned)
}

/// Returns `true` if a text column with this name holds days or seconds, such as `birth_date` or `created_at`.
pub(super) fn is_moment(name: &str) -> bool {
    lookup(TEXTS, &words(name)).is_some_and(|it| it.starts_with("date(") || it.starts_with("timestamp("))
}

/// Returns `true` if a text column with this name holds seconds, such as `created_at`.
pub(super) fn is_second(name: &str) -> bool {
    lookup(TEXTS, &words(name)).is_some_and(|it| it.starts_with("timestamp("))
}

/// Returns `true` if an integer column with this name holds seconds since 1970.
pub(super) fn is_epoch(name: &str) -> bool {
    lookup(INTEGERS, &words(name)) == Some(SECONDS)
}

fn text(table: &str, words: &[String]) -> Option<&'static str> {
    if words.last().is_some_and(|word| word == "name") {
        if let Some(found) = lookup(TEXTS, words) {
            return Some(found);
        }
        let of = match words {
            [only] if only == "name" => self::words(table),
            [of @ .., _] => of.to_vec(),
            [] => return None,
        };
        return lookup(NAMED, &of).or(Some("title()"));
    }
    lookup(TEXTS, words)
}

/// Returns the expression for the longest known sequence of words at the end of `words`; `None` if `table` has no such sequence.
fn lookup(table: &[(&str, &'static str)], words: &[String]) -> Option<&'static str> {
    (0..words.len()).find_map(|first| {
        let joined = words[first..].concat();
        let singular = joined.strip_suffix('s').unwrap_or(&joined);
        let known = |names: &str| names.split_whitespace().any(|name| name == joined || name == singular);
        table.iter().find(|(names, _)| known(names)).map(|(_, expression)| *expression)
    })
}

/// Splits a name into words in lower case.
pub fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for letter in name.chars() {
        let begins = letter.is_uppercase() && before.is_lowercase();
        if (begins || !letter.is_alphanumeric()) && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
        before = letter;
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::compile;
    use crate::parse::parse;

    #[test]
    fn column_names_are_split_into_words() {
        for (name, expected) in [
            ("first_name", "first name"),
            ("FirstName", "first name"),
            ("billingCity", "billing city"),
            ("URL", "url"),
            ("created at", "created at"),
            ("_x_", "x"),
            ("", ""),
        ] {
            assert_eq!(words(name).join(" "), expected, "{name}");
        }
    }

    #[test]
    fn every_expression_in_the_table_of_names_compiles() {
        for (names, expression) in [TEXTS, INTEGERS, REALS, NAMED].into_iter().flatten() {
            compile(&parse(expression, 0).unwrap()).unwrap_or_else(|fault| panic!("{names}: {fault:?}"));
        }
    }

    #[test]
    fn the_longest_known_words_at_the_end_of_a_column_name_choose_the_expression() {
        for (table, name, affinity, expected) in [
            ("t", "BillingCity", Affinity::Text, Some("city()")),
            ("t", "first_name", Affinity::Text, Some("first_name()")),
            ("customers", "name", Affinity::Text, Some("name()")),
            ("t", "customer_name", Affinity::Text, Some("name()")),
            ("Track", "Name", Affinity::Text, Some("title()")),
            (
                "t",
                "created_at",
                Affinity::Text,
                Some("timestamp('2015-01-01 00:00:00', '2025-12-31 23:59:59')"),
            ),
            ("t", "created_at", Affinity::Integer, Some("int(1420070400, 1767225599)")),
            ("t", "is_admin", Affinity::Integer, Some("choice(0, 1)")),
            ("t", "unit_price", Affinity::Real, Some("decimal(1, 1000, 2)")),
            ("t", "lat", Affinity::Real, Some("decimal(-90, 90, 6)")),
            ("t", "email", Affinity::Integer, None),
            ("t", "c", Affinity::Text, None),
        ] {
            let mut column = Column::new(name, "X");
            column.affinity = affinity;
            assert_eq!(expression(table, &column).as_deref(), expected, "{table}.{name}");
        }
    }
}
