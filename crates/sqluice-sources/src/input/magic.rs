//! The first bytes of Parquet and Arrow files. Every build knows them: a build that does not read these files refuses them by name.

/// The first and last bytes of a Parquet file.
pub const PARQUET: &[u8] = b"PAR1";

/// The first and last bytes of a Parquet file whose footer is encrypted.
pub const ENCRYPTED_PARQUET: &[u8] = b"PARE";

/// The first bytes of an Arrow IPC file.
pub const ARROW_FILE: &[u8] = b"ARROW1";

/// The first bytes of a message of an Arrow IPC stream. Streams of old versions begin with a length instead.
pub const ARROW_STREAM: &[u8] = &[0xff; 4];
