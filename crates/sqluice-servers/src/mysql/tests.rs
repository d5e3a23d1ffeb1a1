//! Tests of the MySQL client against a server in a thread, which sends the answers that the test gives it.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use proptest::prelude::*;
use sqluice_core::error::Result;
use sqluice_core::progress::Cancel;
use sqluice_core::source::blocks::{BLOCK_BYTES, Block, Blocks as _};

use super::connection::Connection;
use super::packets::{Fault, Fields, server_error};
use super::rows::{self, Piece};
use super::settings::Settings;
use super::values::{Form, write_row};
use crate::address::{Address, Secret};
use crate::socket::Limits;

/// The random bytes that the server sends, and from which the client computes the proof of its password.
const CHALLENGE: &[u8; 20] = b"abcdefghijklmnopqrst";

/// Returns a packet.
fn packet(number: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = (payload.len() as u32).to_le_bytes()[..3].to_vec();
    packet.push(number);
    packet.extend_from_slice(payload);
    packet
}

/// Returns the first message of a server without TLS.
fn greeting() -> Vec<u8> {
    let mut payload = b"\x0a5.5.5-10.11.0-MariaDB\0\x07\0\0\0".to_vec();
    payload.extend_from_slice(&CHALLENGE[..8]);
    payload.extend_from_slice(&[0, 0x00, 0xa2, 45, 2, 0, 0x28, 0x00, 21]);
    payload.extend_from_slice(&[0; 10]);
    payload.extend_from_slice(&CHALLENGE[8..]);
    payload.extend_from_slice(b"\0mysql_native_password\0");
    packet(0, &payload)
}

/// Returns the definition of a column.
fn column(name: &str, kind: u8, collation: u16) -> Vec<u8> {
    let mut payload = b"\x03def\0\0\0".to_vec();
    payload.push(name.len() as u8);
    payload.extend_from_slice(name.as_bytes());
    payload.extend_from_slice(&[0, 12]);
    payload.extend_from_slice(&collation.to_le_bytes());
    payload.extend_from_slice(&[9, 0, 0, 0, kind, 0, 0, 0, 0, 0]);
    payload
}

const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const END: &[u8] = &[0xfe, 0, 0, 2, 0];

/// Reads a packet of the client.
fn receive(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut header = [0; 4];
    stream.read_exact(&mut header).ok()?;
    let mut payload = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
    stream.read_exact(&mut payload).ok()?;
    Some(payload)
}

/// Starts a server that greets with `first`, and answers each packet of the client with the next of `answers`. The thread returns the packets
/// of the client.
fn server(first: Vec<u8>, answers: Vec<Vec<u8>>) -> (Arc<Settings>, JoinHandle<Vec<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut received = Vec::new();
        let _ = stream.write_all(&first);
        for answer in answers {
            let Some(packet) = receive(&mut stream) else { break };
            received.push(packet);
            let _ = stream.write_all(&answer);
        }
        received
    });
    let address = Address::parse(Path::new(&format!("mysql://ann@127.0.0.1:{port}/shop"))).unwrap();
    let password = Secret::new("hunter2");
    let settings = Settings::of(&address, Some(&password), Some(Duration::from_secs(20))).unwrap();
    (Arc::new(settings), thread)
}

/// Returns the packets of a result with two columns, a number and a text, and with these rows.
fn result(rows: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut payloads = vec![vec![2], column("n", 3, 63), column("t", 253, 45), END.to_vec()];
    payloads.extend_from_slice(rows);
    payloads.push(END.to_vec());
    payloads
}

/// Returns payloads as packets, numbered from 1. A payload that is longer than a packet is split.
fn packets(payloads: &[Vec<u8>]) -> Vec<u8> {
    packets_from(1, payloads)
}

/// Returns payloads as packets, numbered from `number`.
fn packets_from(mut number: u8, payloads: &[Vec<u8>]) -> Vec<u8> {
    const MOST: usize = (1 << 24) - 1;
    let mut bytes = Vec::new();
    for payload in payloads {
        let mut rest = &payload[..];
        loop {
            let (now, later) = rest.split_at(rest.len().min(MOST));
            bytes.extend(packet(number, now));
            number = number.wrapping_add(1);
            rest = later;
            if now.len() < MOST {
                break;
            }
        }
    }
    bytes
}

/// Logs in, runs a query, and returns the rows.
fn all_rows(settings: &Arc<Settings>) -> Result<Vec<Vec<Option<String>>>> {
    let mut connection = Connection::open(settings, &Cancel::new())?;
    connection.rows("SELECT n, t FROM x").map_err(|fault| super::failure(fault, "reading the table x"))
}

#[test]
fn the_login_proves_the_password_and_does_not_send_it() {
    let (settings, server) = server(
        greeting(),
        vec![packet(2, OK), packets(&result(&[b"\x011\x02ab".to_vec(), b"\x012\xfb".to_vec()]))],
    );
    let found = all_rows(&settings).unwrap();
    assert_eq!(found, [[Some("1".into()), Some("ab".into())], [Some("2".into()), None]]);
    let received = server.join().unwrap();
    let login = String::from_utf8_lossy(&received[0]).into_owned();
    assert!(login.contains("ann") && login.contains("shop") && !login.contains("hunter2"), "{login}");
    assert_eq!(received[1], b"\x03SELECT n, t FROM x");
}

#[test]
fn a_request_for_encryption_has_the_capabilities_of_the_login() {
    const CONNECT_WITH_DB: u32 = 1 << 3;
    const SSL: u32 = 1 << 11;
    // Set the bit for encryption: it is in the upper byte of the lower 16 capabilities.
    let mut first = greeting();
    let at = first.windows(2).position(|pair| pair == [0x00, 0xa2]).unwrap();
    first[at + 1] |= 0x08;
    let (settings, server) = server(first, vec![Vec::new()]);
    assert!(all_rows(&settings).is_err());
    let request = &server.join().unwrap()[0];
    assert_eq!(request.len(), 32, "the user is not sent before encryption");
    let capabilities = u32::from_le_bytes(request[..4].try_into().unwrap());
    assert_eq!(capabilities & (CONNECT_WITH_DB | SSL), CONNECT_WITH_DB | SSL);
}

#[test]
fn a_server_may_switch_to_the_plugin_of_the_account_during_the_login() {
    let switch = [b"\xfemysql_native_password\0", &CHALLENGE[..], b"\0"].concat();
    let (settings, server) =
        server(greeting(), vec![packet(2, &switch), packet(4, OK), packets(&result(&[]))]);
    assert_eq!(all_rows(&settings).unwrap(), Vec::<Vec<Option<String>>>::new());
    let received = server.join().unwrap();
    assert_eq!(received[1].len(), 20);
}

#[test]
fn a_plugin_that_sends_the_password_in_the_clear_is_refused_without_encryption() {
    for plugin in ["mysql_clear_password", "mysql_old_password", "client_ed25519", "dialog"] {
        let switch = [b"\xfe", plugin.as_bytes(), b"\0", &CHALLENGE[..], b"\0"].concat();
        let (settings, server) = server(greeting(), vec![packet(2, &switch), packet(4, OK)]);
        let error = all_rows(&settings).unwrap_err().to_string();
        assert!(error.contains(plugin) && error.contains("another plugin"), "{error}");
        assert!(
            server.join().unwrap().iter().all(|packet| !packet.windows(7).any(|part| part == b"hunter2"))
        );
    }
}

#[test]
fn errors_about_a_refused_user_and_a_full_server_do_not_show_the_password() {
    let denied = b"\xff\x15\x04#28000Access denied for user 'ann'@'localhost'";
    let (settings, server) = server(greeting(), vec![packet(2, denied)]);
    let error = all_rows(&settings).unwrap_err().to_string();
    assert!(
        error.contains("Access denied") && error.contains("1045") && !error.contains("hunter2"),
        "{error}"
    );
    server.join().unwrap();
    let (settings, server) = self::server(packet(0, b"\xff\x10\x04Too many connections"), Vec::new());
    let error = all_rows(&settings).unwrap_err().to_string();
    assert!(error.contains("Too many connections"), "{error}");
    server.join().unwrap();
}

#[test]
fn a_row_of_several_packets_is_joined() {
    const BYTES: usize = (1 << 24) + 5;
    for bytes in [BYTES, (1 << 24) - 1 - 11, (1 << 24) - 1 - 10, (1 << 24) - 12] {
        let mut row = b"\x017\xfe".to_vec();
        row.extend_from_slice(&(bytes as u64).to_le_bytes());
        row.resize(row.len() + bytes, b'x');
        let (settings, server) =
            server(greeting(), vec![packet(2, OK), packets(&result(&[row, b"\x018\x01y".to_vec()]))]);
        let found = all_rows(&settings).unwrap();
        assert_eq!(found[0][1].as_ref().map(String::len), Some(bytes));
        assert_eq!(found[1], [Some("8".into()), Some("y".into())]);
        server.join().unwrap();
    }
}

#[test]
fn a_statement_longer_than_a_packet_is_sent_in_several_packets() {
    const MOST: usize = (1 << 24) - 1;
    for bytes in [MOST, MOST + 5] {
        // One byte of the payload is the command.
        let sql = format!("SELECT n, t FROM x -- {}", "x".repeat(bytes - 1 - 22));
        let rows = packets_from(2, &result(&[b"\x017\x01y".to_vec()]));
        let (settings, server) = server(greeting(), vec![packet(2, OK), Vec::new(), rows]);
        let mut connection = Connection::open(&settings, &Cancel::new()).unwrap();
        assert_eq!(connection.rows(&sql).unwrap(), [[Some("7".into()), Some("y".into())]]);
        let received = server.join().unwrap();
        assert_eq!([received[1].len(), received[2].len()], [MOST, bytes - MOST]);
        assert_eq!([&received[1][1..], &received[2][..]].concat(), sql.as_bytes());
    }
}

#[test]
fn every_block_is_a_whole_insert_statement_even_if_a_row_is_longer_than_a_block() {
    let long = 3 * BLOCK_BYTES;
    let lengths: Vec<usize> = (0..90).map(|row| if row == 40 { long } else { 20_000 }).collect();
    let row = |(number, &length): (usize, &usize)| {
        let number = number.to_string();
        let mut row = vec![number.len() as u8];
        row.extend_from_slice(number.as_bytes());
        row.push(0xfe);
        row.extend_from_slice(&(length as u64).to_le_bytes());
        row.resize(row.len() + length, b'x');
        row
    };
    let list: Vec<Vec<u8>> = lengths.iter().enumerate().map(row).collect();
    let (settings, server) = server(greeting(), vec![packet(2, OK), packets(&result(&list)), Vec::new()]);
    let connection = Connection::open(&settings, &Cancel::new()).unwrap();
    let piece = Piece {
        what: "the table x".into(),
        insert: "INSERT INTO x VALUES\n".into(),
        select: "SELECT n, t FROM x".to_owned(),
    };
    let mut reader = rows::start(vec![connection], vec![(7, piece)], 2, &Cancel::new());
    let (mut found, mut blocks) = (0, 0);
    while let Some(Block { text, rows }) = reader.next(7).unwrap() {
        let text = String::from_utf8(text).unwrap();
        let values = text.strip_prefix("INSERT INTO x VALUES\n").unwrap().strip_suffix(";\n").unwrap();
        for value in values.split(",\n") {
            assert_eq!(value.len(), format!("({found},'')").len() + lengths[found]);
            assert!(value.starts_with(&format!("({found},'")), "{found}");
            found += 1;
        }
        assert_eq!(values.split(",\n").count() as u64, rows);
        assert!(text.len() < BLOCK_BYTES + long + 100);
        blocks += 1;
    }
    assert_eq!(found, lengths.len());
    assert!(blocks > 3, "{blocks}");
    drop(reader);
    server.join().unwrap();
}

#[test]
fn a_request_for_a_file_of_the_client_is_refused() {
    let (settings, server) = server(greeting(), vec![packet(2, OK), packet(1, b"\xfb/etc/passwd")]);
    let error = all_rows(&settings).unwrap_err().to_string();
    assert!(error.contains("a request for a file"), "{error}");
    server.join().unwrap();
}

#[test]
fn a_silent_server_ends_the_run_after_the_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let address = Address::parse(Path::new(&format!("mysql://ann@127.0.0.1:{port}/shop"))).unwrap();
    let mut settings = Settings::of(&address, None, None).unwrap();
    settings.limits.connect = Duration::from_millis(200);
    let error = all_rows(&Arc::new(settings)).unwrap_err().to_string();
    assert!(error.contains("silent"), "{error}");
}

/// Writes a row with one column as a literal.
fn literal(value: &[u8], form: Form) -> String {
    let mut row = vec![0xfe];
    row.extend_from_slice(&(value.len() as u64).to_le_bytes());
    row.extend_from_slice(value);
    let mut text = Vec::new();
    assert!(write_row(&row, &[form], &mut text).is_ok());
    String::from_utf8(text).unwrap()
}

#[test]
fn values_are_written_as_mysqldump_writes_them() {
    for (value, form, expected) in [
        (&b"12.50"[..], Form::Number, "(12.50)"),
        (b"-inf", Form::Number, "(NULL)"),
        (b"nan", Form::Number, "(NULL)"),
        (b"-1e300", Form::Number, "(-1e300)"),
        (b"", Form::Text, "('')"),
        (b"it's \"q\" \\ \0\n\r\x1a\t\xc3\xa9", Form::Text, "('it\\'s \\\"q\\\" \\\\ \\0\\n\\r\\Z\t\u{e9}')"),
        (b"", Form::Hexadecimal, "('')"),
        (b"\x00\xff'", Form::Hexadecimal, "(0x00FF27)"),
    ] {
        assert_eq!(literal(value, form), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_connection_that_is_cut_is_an_error(cut in 0.0_f64..1.0, values in proptest::collection::vec("[a-z]{0,90}", 0..20)) {
        let row = |(number, value): (usize, &String)| {
            let number = number.to_string();
            let mut row = vec![number.len() as u8];
            row.extend_from_slice(number.as_bytes());
            row.push(value.len() as u8);
            row.extend_from_slice(value.as_bytes());
            row
        };
        let list: Vec<Vec<u8>> = values.iter().enumerate().map(row).collect();
        let answer = packets(&result(&list));
        let cut = (answer.len() as f64 * cut) as usize;
        let (settings, server) = server(greeting(), vec![packet(2, OK), answer[..cut].to_vec()]);
        let error = all_rows(&settings).unwrap_err().to_string();
        prop_assert!(error.contains("reading the table x"), "{error}");
        server.join().unwrap();
    }

    #[test]
    fn random_bytes_of_a_server_never_make_the_client_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0_usize..120) {
        let mut first = greeting();
        let at = at.min(first.len() - 1);
        first[at] = bytes.first().copied().unwrap_or(0xff);
        let (settings, server) = server(first, vec![packet(2, OK), bytes.clone()]);
        // With random bytes, client and server may each wait for the other until the timeout.
        let mut settings = Settings::clone(&settings);
        settings.limits = Limits { connect: Duration::from_millis(50), silence: Some(Duration::from_millis(50)) };
        let _ = all_rows(&Arc::new(settings));
        drop(server);
        let mut fields = Fields(&bytes);
        while let Ok(Some(_)) = fields.value() {}
        let is_error = matches!(server_error(&bytes), Fault::Server(_) | Fault::Malformed(_));
        prop_assert!(is_error);
    }
}
