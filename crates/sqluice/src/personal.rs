//! Detects columns that look personal, by their names or by samples of their values.
//!
//! ```text
//!  names, such as email_2, customers.name or GeburtsDatum ── their words, compared with lists ──┐
//!                                                                                               ├──> Personal { what, why }
//!  a sample of values ── the share of the values that have a form, such as a check digit ───────┘
//! ```
//!
//! Names and values only suggest a kind, so callers report the guesses that they use. In doubt, a column looks personal: a needless mask
//! costs little.
//!
//! Invariant: the result depends only on the name, or on the values in their order.

mod values;

use sqluice_generator::words_of_name;
pub(crate) use values::{FormCounts, ValueForms, by_values, forms_inside, forms_of};

/// The kind of personal data that a column seems to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Personal {
    /// The kind with its article: "an e-mail address", "a person's name".
    pub(crate) what: &'static str,
    /// The evidence for the guess.
    pub(crate) why: Why,
}

/// The evidence for a guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The name of the column.
    Name,
    /// The values of the column.
    Values,
}

const NAME: &str = "a person's name";
const EMAIL: &str = "an e-mail address";
const PHONE: &str = "a telephone number";
const CARD: &str = "a payment card";
const ACCOUNT: &str = "a bank account";
const ADDRESS: &str = "a postal address";
const SECRET: &str = "a secret";
const NETWORK: &str = "a network address";
const NUMBER: &str = "a number of a person";
const FREE_TEXT: &str = "free text";
const PLACE: &str = "a position on a map";

/// Words, without accents, that mark a name as personal at any position: `email_2`, `phone_home`.
const ANYWHERE: &[(&str, &str)] = &[
    (
        "email emails mail emailaddress mailaddress courriel correo correoelectronico epost mailadresse emailadresse",
        EMAIL,
    ),
    (
        "phone telephone phonenumber phoneno mobile mobilephone cellphone msisdn fax telefon telefono telefone telefoon \
         telefonnummer handynummer handy celular portable whatsapp",
        PHONE,
    ),
    (
        "firstname lastname surname givenname familyname middlename maidenname forename fullname vorname nachname \
         familienname geburtsname prenom apellido apellidos apellidopaterno apellidomaterno cognome sobrenome voornaam \
         achternaam nazwisko imie fornamn efternamn etternavn fornavn prijmeni nickname fname lname",
        NAME,
    ),
    (
        "ssn socialsecurity socialsecuritynumber nationalid nationalidnumber personalid taxid taxnumber taxpayerid tin nino \
         nhsnumber passport passportno passportnumber driverlicense driverslicense driverslicence drivinglicence licenseplate \
         licenceplate numberplate vin dni nif nie curp rfc codicefiscale cpf bsn pesel personnummer fodselsnummer rodnecislo \
         aadhaar steuernummer steuerid sozialversicherungsnummer reisepass personalausweis ausweisnummer insurancenumber \
         insno insnumber insuranceno insuranceid policyno policynumber medicalrecordnumber mrn nhsno svnr versicherungsnummer \
         imei imsi",
        NUMBER,
    ),
    (
        "iban bankaccount accountnumber bankaccountnumber routingnumber sortcode kontonummer accountno bic swift",
        ACCOUNT,
    ),
    (
        "cardnumber creditcard creditcardnumber debitcard cardno ccnumber cvv cvc cvv2 kreditkarte cardholder",
        CARD,
    ),
    (
        "street streetname streetaddress streetno housenumber addressline addressline1 addressline2 address1 address2 \
         postcode postalcode zipcode zip postleitzahl plz codepostal codigopostal cep strasse hausnummer rue calle \
         direccion indirizzo endereco straat ulica gata homeaddress postaladdress anschrift shipto billto deliverto \
         shiptoaddress billtoaddress lieferadresse rechnungsadresse",
        ADDRESS,
    ),
    (
        "birthdate birthday dateofbirth dob birthyear yearofbirth placeofbirth birthplace birth bday bdate born bornon bornat \
         geburtsdatum geburtstag geburtsjahr geboren \
         geburtsort naissance datenaissance nacimiento fechanacimiento nascita datadinascita nascimento datanascimento \
         geboortedatum urodzenia fodselsdato fodelsedatum",
        "a date of birth",
    ),
    (
        "password passwd pwd passphrase passwort kennwort motdepasse contrasena senha wachtwoord haslo secret apikey \
         accesskey privatekey accesstoken refreshtoken authtoken passwordhash otp totp pin",
        SECRET,
    ),
    (
        "ip ipaddr ipaddress ipv4 ipv6 clientip remoteip remoteaddr remoteaddress mac macaddress macaddr",
        NETWORK,
    ),
    (
        "latitude longitude lat lng lon latlng latlon geolocation gps coordinates coords breitengrad laengengrad",
        PLACE,
    ),
    (
        "gender sex ethnicity religion sexualorientation maritalstatus geschlecht nationality",
        "a trait of a person",
    ),
    ("diagnosis diagnoses bloodtype bloodgroup allergies medication diagnose", "a state of health"),
    ("salary wage income gehalt salaire salario", "an income"),
];

/// Words that mark a name as personal at its end: `user_comment`, but not `comment_count`.
const AT_THE_END: &[(&str, &str)] = &[
    (
        "username userlogin loginname login usernick screenname displayname benutzername nutzername nomutilisateur",
        "a user name",
    ),
    (
        "contactname personname author employee customername holder ownername beneficiary signature sender recipient \
         receiver cc bcc attendee",
        NAME,
    ),
    ("tel cell mobil", PHONE),
    ("address adresse adres shippingaddress billingaddress domicile wohnort postal adressezeile", ADDRESS),
    ("token sessionid sessiontoken sessionkey cookie csrftoken credential credentials recoverycode", SECRET),
    ("useragent deviceid devicetoken fingerprint advertisingid idfa", "a person's device"),
    (
        "note notes comment comments remark remarks message messages body bio biography aboutme feedback review \
         freetext transcript biographie notiz notizen bemerkung bemerkungen kommentar nachricht \
         commentaire comentario commento nota notas anmerkung messagebody messagetext",
        FREE_TEXT,
    ),
    ("avatar portrait selfie facephoto profilepicture", "a picture of a person"),
];

/// Words that are personal only beside another personal column of their table: `last` beside `email`, but not beside `price`.
const BESIDE_OTHERS: &[(&str, &str)] =
    &[("first last middle given family maiden initials", NAME), ("report anamnesis findings", FREE_TEXT)];

/// Names of tables of people, whose column `name` is a person's name. After these words, `name` is also a person's name: `owner_name`.
const PEOPLE: &str = "customer client user person people employee author actor artist contact member student pupil teacher \
    staff patient driver passenger guest owner manager musician reader account doctor nurse subscriber recipient sender \
    buyer seller lead candidate applicant attendee participant child parent spouse tenant resident voter donor player \
    visitor profile kunde kunden benutzer mitarbeiter personen patienten cliente clientes usuario usuarios empleado \
    persona personas klient medewerker gebruiker utilisateur utilisateurs employe personne personnes utente dipendente \
    beneficiary holder emergency legal real billing shipping";

/// Words at the end of a column's name that say something about personal data without being personal: `email_verified`.
const ABOUT: &str = "verified confirmed count counts sent enabled disabled status state type kind at length valid is has can \
    opens opened bounced optin optout opt required changed updated created expires expired expiry flag number_of template \
    format provider domain id uuid version algorithm attempts retries limit quota size score server host port gateway queue folder";

/// Words at the start of a column's name that say something about personal data without being personal: `is_phone_valid`.
const ASKING: &str = "is has can num count";

/// The word "name" in several languages.
const NAMES: &str = "name nom nombre nome naam namn navn";

/// Words before `name` for things that have names but are no persons.
const THINGS: &str = "file table column product item host domain city country state event class type field key project \
    company brand category group role tag path folder bucket queue server service job task";

/// Returns the kind of personal data that a key suggests for its value, such as `smtp_password` in a table of settings. A key of free
/// text, such as `comment`, suggests none here.
pub(crate) fn by_key(key: &str) -> Option<&'static str> {
    let what = by_name("", key)?.what;
    (what != FREE_TEXT).then_some(what)
}

/// Returns the kind of personal data that the names of a column and its table suggest; `None` if they suggest none.
pub(crate) fn by_name(table: &str, column: &str) -> Option<Personal> {
    let words: Vec<String> = words_of_name(column).iter().map(|word| plain(word)).collect();
    let last = words.last()?;
    let found = |what| Some(Personal { what, why: Why::Name });
    let mut ends = (0..words.len()).map(|first| words[first..].concat());
    let is_about = has(ABOUT, last) && ends.all(|end| said_by(ANYWHERE, &end).is_none());
    if words.len() > 1 && (is_about || has(ASKING, &words[0])) {
        return None;
    }
    let runs = (0..words.len()).flat_map(|first| (first + 1..=words.len()).map(move |end| (first, end)));
    if let Some(what) =
        runs.map(|(first, end)| words[first..end].concat()).find_map(|run| said_by(ANYWHERE, &run))
    {
        return found(what);
    }
    let end = (0..words.len()).map(|first| words[first..].concat()).find_map(|run| said_by(AT_THE_END, &run));
    if let Some(what) = end {
        return found(what);
    }
    if has(NAMES, last) {
        let of: Vec<String> = match words.len() {
            1 => words_of_name(table).iter().map(|word| plain(word)).collect(),
            count => words[..count - 1].to_vec(),
        };
        let person = of.last().is_some_and(|word| has(PEOPLE, word) && !has(THINGS, word));
        return if person { found(NAME) } else { None };
    }
    None
}

/// Returns the kind of personal data that a column's name suggests if another column of its table is personal.
pub(crate) fn by_name_beside_others(column: &str) -> Option<Personal> {
    let words: Vec<String> = words_of_name(column).iter().map(|word| plain(word)).collect();
    let [word] = &words[..] else { return None };
    said_by(BESIDE_OTHERS, word).map(|what| Personal { what, why: Why::Name })
}

/// Returns the kind of personal data of each column of a table; `None` if a column does not look personal. `by_values` guesses from the
/// values of a column, which it gets as an index in `columns`.
pub(crate) fn of_table(
    table: &str,
    columns: &[&str],
    by_values: impl Fn(usize) -> Option<Personal>,
) -> Vec<Option<Personal>> {
    let looked = columns.iter().enumerate();
    let alone: Vec<Option<Personal>> =
        looked.map(|(number, column)| by_name(table, column).or_else(|| by_values(number))).collect();
    let has_personal = alone.iter().any(Option::is_some);
    let beside = |column: &&str| by_name_beside_others(column).filter(|_| has_personal);
    alone.into_iter().zip(columns).map(|(alone, column)| alone.or_else(|| beside(column))).collect()
}

fn said_by(table: &[(&str, &'static str)], word: &str) -> Option<&'static str> {
    table.iter().find(|(words, _)| has(words, word)).map(|(_, what)| *what)
}

/// Returns `true` if a list has a word, or its singular.
fn has(words: &str, word: &str) -> bool {
    let singular = word.strip_suffix('s').unwrap_or(word);
    words.split_whitespace().any(|one| one == word || one == singular)
}

/// Returns a word without accents and without a number at its end, which only `ipv4`, `ipv6`, `cvv2` and numbers keep.
fn plain(word: &str) -> String {
    let plain: String = word
        .chars()
        .flat_map(|letter| {
            let replaced = match letter {
                'ä' | 'á' | 'à' | 'â' | 'ã' | 'å' | 'ą' => "a",
                'é' | 'è' | 'ê' | 'ë' | 'ę' => "e",
                'í' | 'ì' | 'î' | 'ï' => "i",
                'ö' | 'ó' | 'ò' | 'ô' | 'õ' | 'ø' => "o",
                'ü' | 'ú' | 'ù' | 'û' => "u",
                'ç' | 'ć' | 'č' => "c",
                'ñ' | 'ń' => "n",
                'ł' => "l",
                'ř' => "r",
                'ś' | 'š' => "s",
                'ž' | 'ż' | 'ź' => "z",
                'ß' => "ss",
                _ => return vec![letter],
            };
            replaced.chars().collect()
        })
        .collect();
    let without = plain.trim_end_matches(|letter: char| letter.is_ascii_digit());
    if without.is_empty() || matches!(without, "ipv" | "cvv") { plain } else { without.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn what(table: &str, column: &str) -> Option<&'static str> {
        by_name(table, column).map(|personal| {
            assert_eq!(personal.why, Why::Name);
            personal.what
        })
    }

    #[test]
    fn names_of_personal_columns_are_recognised_in_all_spellings() {
        for (column, expected) in [
            ("email", EMAIL),
            ("EMail", EMAIL),
            ("emailAddress", EMAIL),
            ("work_email_2", EMAIL),
            ("email2", EMAIL),
            ("EMAIL_ADDRESS", EMAIL),
            ("phone", PHONE),
            ("PhoneHome", PHONE),
            ("Handynummer", PHONE),
            ("first_name", NAME),
            ("LastName", NAME),
            ("customer_name", NAME),
            ("c_lastname", NAME),
            ("Vorname", NAME),
            ("prénom", NAME),
            ("ssn", NUMBER),
            ("passport_no", NUMBER),
            ("tax_id", NUMBER),
            ("IBAN", ACCOUNT),
            ("card_number", CARD),
            ("Straße", ADDRESS),
            ("zip_code", ADDRESS),
            ("shipping_address", ADDRESS),
            ("birth_date", "a date of birth"),
            ("GeburtsDatum", "a date of birth"),
            ("password_hash", SECRET),
            ("api_key", SECRET),
            ("session_token", SECRET),
            ("ip", NETWORK),
            ("client_ip", NETWORK),
            ("mac_address", NETWORK),
            ("user_name", "a user name"),
            ("login", "a user name"),
            ("lat", PLACE),
            ("notes", FREE_TEXT),
            ("message_body", FREE_TEXT),
            ("born", "a date of birth"),
            ("birth", "a date of birth"),
            ("bday", "a date of birth"),
            ("year_born", "a date of birth"),
            ("sex", "a trait of a person"),
            ("ship_to", ADDRESS),
            ("BillTo", ADDRESS),
            ("ins_no", NUMBER),
        ] {
            assert_eq!(what("t", column), Some(expected), "{column}");
        }
        assert_eq!(what("customers", "name"), Some(NAME));
        assert_eq!(what("Kunden", "Name"), Some(NAME));
    }

    #[test]
    fn some_column_names_are_personal_only_beside_other_personal_columns() {
        let kinds = |columns: &[&str]| -> Vec<Option<&str>> {
            of_table("t", columns, |_| None).into_iter().map(|found| found.map(|found| found.what)).collect()
        };
        assert_eq!(kinds(&["id", "last", "family", "report"]), [None; 4]);
        let beside = kinds(&["id", "first", "last", "family", "report", "email", "last_seen"]);
        assert_eq!(beside, [None, Some(NAME), Some(NAME), Some(NAME), Some(FREE_TEXT), Some(EMAIL), None]);
        let by_values = of_table("t", &["a", "last"], |column| {
            (column == 0).then_some(Personal { what: PHONE, why: Why::Values })
        });
        assert!(by_values.iter().all(Option::is_some));
    }

    #[test]
    fn column_names_such_as_product_name_or_email_count_are_not_personal() {
        for column in [
            "filename",
            "file_name",
            "table_name",
            "product_name",
            "ProductName",
            "id",
            "total",
            "status",
            "name",
            "email_verified",
            "email_count",
            "is_phone_valid",
            "comment_count",
            "description_length",
            "quantity",
            "created_at",
            "category",
            "ship_date",
            "description_id",
            "latency",
            "province_code",
            "pinned",
            "",
        ] {
            assert_eq!(what("product", column), None, "{column}");
        }
    }
}
