//! The C functions that a driver manager loads by name. They are in every library that includes this crate.
//!
//! A driver manager may set an option to NULL. `adbc_ffi` would not pass this value to [`Driver`], so it is refused here, like an unknown
//! option.

use std::ffi::{CStr, c_char};
use std::mem::ManuallyDrop;

use adbc_core::error::{AdbcStatusCode, Error};
use adbc_ffi::{
    FFI_AdbcConnection, FFI_AdbcDatabase, FFI_AdbcDriver, FFI_AdbcError, FFI_AdbcStatement, FFIDriver,
    export_error,
};

use crate::driver::Driver;
use crate::errors::unknown_option;

/// The driver, with functions for options that refuse NULL.
struct Exported;

impl FFIDriver for Exported {
    fn ffi_driver() -> FFI_AdbcDriver {
        let mut driver = Driver::ffi_driver();
        driver.DatabaseSetOption = Some(set_database_option);
        driver.ConnectionSetOption = Some(set_connection_option);
        driver.StatementSetOption = Some(set_statement_option);
        driver
    }
}

adbc_ffi::export_driver!(AdbcDriverSqluiceInit, Exported);

/// Defines the function that sets an option of a database, a connection or a statement.
macro_rules! set_option {
    ($name:ident, $object:ty, $method:ident, $of:literal) => {
        unsafe extern "C" fn $name(
            object: *mut $object,
            key: *const c_char,
            value: *const c_char,
            error: *mut FFI_AdbcError,
        ) -> AdbcStatusCode {
            if value.is_null() && !key.is_null() {
                let key = CStr::from_ptr(key).to_string_lossy();
                return refuse(unknown_option($of, &key, "(NULL)"), error);
            }
            // The driver has only function pointers, so it need not be released.
            let driver = ManuallyDrop::new(Driver::ffi_driver());
            match driver.$method {
                Some(set) => set(object, key, value, error),
                None => refuse(unknown_option($of, "", ""), error),
            }
        }
    };
}

set_option!(set_database_option, FFI_AdbcDatabase, DatabaseSetOption, "database");
set_option!(set_connection_option, FFI_AdbcConnection, ConnectionSetOption, "connection");
set_option!(set_statement_option, FFI_AdbcStatement, StatementSetOption, "statement");

unsafe fn refuse(found: Error, to: *mut FFI_AdbcError) -> AdbcStatusCode {
    let status = found.status.into();
    export_error(to, found);
    status
}
