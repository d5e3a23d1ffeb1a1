//! The driver of ADBC: a driver manager finds it in this library by the names of these functions. The module of Python and the driver have one SQLite,
//! which notes the descriptors of its connections. While a connection has a file open, a child process does the module's work on the file.

adbc_ffi::export_driver!(AdbcDriverSqluiceInit, sqluice_adbc::driver::Driver);
