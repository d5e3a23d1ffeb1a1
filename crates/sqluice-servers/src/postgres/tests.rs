//! Tests of the PostgreSQL client against a server in a thread, which sends bytes that may be cut off or changed at any place.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use sqluice_core::error::{ErrorKind, Result};
use sqluice_core::progress::Cancel;
use sqluice_core::source::blocks::Block;

use super::connection::Connection;
use super::settings::Settings;
use crate::address::Address;

/// Returns a message of the server.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
    [&[kind], &length[..], body].concat()
}

/// Returns all bytes that a server sends for a login without a password.
fn login() -> Vec<u8> {
    [
        message(b'R', &[0, 0, 0, 0]),
        message(b'S', b"server_version\x0015.3 (Debian)\0"),
        message(b'K', &[0, 0, 0, 1, 0, 0, 0, 2]),
        message(b'Z', b"I"),
    ]
    .concat()
}

/// Returns all bytes that a server sends for a COPY with these rows.
fn copy(rows: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = message(b'H', &[0, 0, 1, 0, 0]);
    rows.iter().for_each(|row| bytes.extend(message(b'd', row)));
    bytes.extend(message(b'c', b""));
    bytes.extend(message(b'C', b"COPY 1\0"));
    bytes.extend(message(b'Z', b"I"));
    bytes
}

/// Starts a server that sends `bytes` and hangs up. Returns the rows of COPY that the client reads from it.
fn read(bytes: Vec<u8>) -> Result<Vec<u8>> {
    Ok(blocks(bytes, usize::MAX)?.into_iter().flat_map(|block| block.text).collect())
}

/// Like [`read`], but returns the blocks, each of which ends with the row that reaches `bytes_max` bytes.
fn blocks(bytes: Vec<u8>, bytes_max: usize) -> Result<Vec<Block>> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // Refuse the connection on which the client asks to cancel the statement.
        drop(listener);
        let mut request = [0; 1024];
        let _ = stream.read(&mut request);
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        // Wait until the client hangs up.
        while stream.read(&mut request).is_ok_and(|bytes| bytes > 0) {}
    });
    let url = format!("postgres://ann:secret@127.0.0.1:{port}/d?sslmode=disable");
    let address = Address::parse(Path::new(&url)).unwrap();
    let settings = Settings::of(&address, None, Some(Duration::from_secs(20))).unwrap();
    let rows = Connection::open(&settings, &Cancel::new()).and_then(|mut connection| {
        let mut blocks = vec![Block::default()];
        let copied = connection.copy("COPY t TO STDOUT").and_then(|()| {
            while connection.copied(blocks.last_mut().unwrap(), bytes_max)? {
                blocks.push(Block::default());
            }
            Ok(())
        });
        copied.map(|()| blocks).map_err(|failure| failure.into_error("cannot read table t"))
    });
    server.join().unwrap();
    rows
}

#[test]
fn a_connection_that_ends_anywhere_gives_all_rows_or_an_error() {
    let rows = [b"1\tab\n".to_vec(), b"2\t\\N\n".to_vec(), vec![b'x'; 300]];
    let whole = [login(), copy(&rows)].concat();
    assert_eq!(read(whole.clone()).unwrap(), rows.concat());
    for end in 0..whole.len() {
        let error = read(whole[..end].to_vec()).unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
    }
}

#[test]
fn a_block_ends_after_the_row_that_fills_it() {
    let rows = [b"1\tab\n".to_vec(), vec![b'x'; 70_000], b"2\n".to_vec(), b"3\n".to_vec()];
    let found = blocks([login(), copy(&rows)].concat(), 8).unwrap();
    let found: Vec<(Vec<u8>, u64)> = found.into_iter().map(|block| (block.text, block.rows)).collect();
    assert_eq!(found, [(rows[..2].concat(), 2), (rows[2..].concat(), 2)]);
}

#[test]
fn a_run_that_is_cancelled_does_not_wait_for_a_handshake() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let cancel = Cancel::new();
    let stop = cancel.clone();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // The server agrees to encryption, and then sends nothing more.
        let _ = stream.read(&mut [0; 8]);
        let _ = stream.write_all(b"S");
        let _ = stream.read(&mut [0; 1024]);
        stop.cancel();
        while stream.read(&mut [0; 1024]).is_ok_and(|bytes| bytes > 0) {}
    });
    let url = format!("postgres://ann@127.0.0.1:{port}/d?sslmode=require");
    let address = Address::parse(Path::new(&url)).unwrap();
    let settings = Settings::of(&address, None, None).unwrap();
    let began = Instant::now();
    let error = Connection::open(&settings, &cancel).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Interrupted);
    assert!(began.elapsed() < settings.limits.connect / 2, "{:?}", began.elapsed());
    server.join().unwrap();
}

#[test]
fn an_error_of_the_server_is_passed_on() {
    let error = message(b'E', b"SERROR\0C57014\0Mcanceling statement due to statement timeout\0\0");
    let bytes = [login(), message(b'H', &[0, 0, 1, 0, 0]), message(b'd', b"1\n"), error, message(b'Z', b"I")]
        .concat();
    let error = read(bytes).unwrap_err().to_string();
    assert!(error.contains("cannot read table t: canceling statement due to statement timeout"), "{error}");
}

#[test]
fn a_message_of_an_impossible_length_is_an_error() {
    for length in [[0, 0, 0, 0], [0, 0, 0, 3], [0xff; 4], [0x7f, 0xff, 0xff, 0xff]] {
        assert!(read([vec![b'S'], length.to_vec()].concat()).is_err(), "{length:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn changed_bytes_of_a_server_never_make_the_client_panic_or_hang(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut bytes = [login(), copy(&[b"1\n".to_vec()])].concat();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = read(bytes);
    }
}
