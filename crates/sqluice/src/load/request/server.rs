//! The options for databases of servers.

use sqluice_core::error::{Result, Setting};
use sqluice_core::given::{TakesSettings, Value};
use sqluice_core::setters;

/// The options for the database of a server, which is named by a URL in the place of a file: `postgres://user@host/database`.
///
/// ```
/// use sqluice::load::{Load, ServerOptions};
///
/// let recent = ServerOptions::new().filter("orders", "created_at > now() - interval '1 day'");
/// let load = Load::new("shop.db", ["postgres://ann@db.example.org/shop"]).server(recent.connections(2));
/// assert_eq!(load.server.connections, 2);
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct ServerOptions {
    /// The schema of PostgreSQL to load; `None` for all.
    pub schema_name: Option<String>,
    /// Tables, each with a condition in the server's SQL for the rows to load.
    pub filters: Vec<(String, String)>,
    /// The query whose rows are loaded, in the server's SQL; `None` for the tables.
    pub query: Option<String>,
    /// The maximum number of connections that read rows; 0 for a number that suits the tables and this computer.
    pub connections: usize,
    /// `true` if MySQL's tables are locked at the start, until all connections read from the same snapshot.
    pub lock: bool,
    /// `true` if row security may hide rows: the visible rows are loaded. If `false`, a table with hidden rows is an error.
    pub row_security: bool,
    /// The password; `None` for that of the URL, the environment or a file of passwords.
    pub password: Option<String>,
}

impl std::fmt::Debug for ServerOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The password is left out, because it is a secret.
        f.debug_struct("ServerOptions")
            .field("schema_name", &self.schema_name)
            .field("filters", &self.filters)
            .field("query", &self.query)
            .field("connections", &self.connections)
            .field("lock", &self.lock)
            .field("row_security", &self.row_security)
            .finish_non_exhaustive()
    }
}

setters! { ServerOptions:
    /// Sets the schema of PostgreSQL to load; `None` for all.
    schema_name(schema: impl Into<Option<String>>) = schema.into();
    /// Sets the query whose rows are loaded instead of tables. [`Load::table`] names the table that is made.
    query(query: impl Into<Option<String>>) = query.into();
    /// Sets the maximum number of connections that read rows; 0 for a number that suits the tables and this computer.
    connections(connections: usize) = connections;
    /// Sets whether MySQL's tables are locked at the start, until all connections read from the same snapshot.
    lock(lock: bool) = lock;
    /// Accepts row security that hides rows: the visible rows are loaded. By default, a table with hidden rows is an error.
    row_security(row_security: bool) = row_security;
    /// Sets the password, which no message shows.
    password(password: impl Into<Option<String>>) = password.into();
}

impl ServerOptions {
    /// Creates the default options.
    pub fn new() -> ServerOptions {
        ServerOptions::default()
    }

    /// Loads only the rows of a table for which a condition in the server's SQL is true.
    #[must_use]
    pub fn filter(mut self, table: impl Into<String>, condition: impl Into<String>) -> ServerOptions {
        self.filters.push((table.into(), condition.into()));
        self
    }

    /// Returns the first setting that was given and that servers of this URL scheme do not have; `None` if there is no such setting.
    pub(crate) fn foreign_to(&self, scheme: &str) -> Option<Setting> {
        let given = match scheme {
            "mysql" | "mariadb" => {
                [(self.schema_name.is_some(), Setting::SchemaName), (self.row_security, Setting::RowSecurity)]
            }
            _ => return self.lock.then_some(Setting::Lock),
        };
        given.into_iter().find(|(is_given, _)| *is_given).map(|(_, setting)| setting)
    }

    /// Returns the first setting for servers that was given; `None` if none was.
    pub(crate) fn given(&self) -> Option<Setting> {
        let given = [
            (self.schema_name.is_some(), Setting::SchemaName),
            (self.query.is_some(), Setting::Query),
            (self.connections != 0, Setting::Connections),
            (self.lock, Setting::Lock),
            (self.row_security, Setting::RowSecurity),
            (!self.filters.is_empty(), Setting::Where),
        ];
        given.into_iter().find(|(is_given, _)| *is_given).map(|(_, setting)| setting)
    }
}

impl TakesSettings for ServerOptions {
    fn set(&mut self, setting: Setting, value: &Value) -> Result<bool> {
        match setting {
            Setting::SchemaName => self.schema_name = Some(value.to()?),
            Setting::Query => self.query = Some(value.to()?),
            Setting::Connections => self.connections = value.to::<usize>()?,
            Setting::Lock => self.lock = value.to()?,
            Setting::RowSecurity => self.row_security = value.to()?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Load;

    #[test]
    fn settings_for_another_kind_of_server_are_refused_also_without_a_server() {
        let refused = |url: &str, server: ServerOptions| {
            Load::new("x.db", [url]).server(server).of_server().unwrap_err().to_string()
        };
        let schema = ServerOptions::new().schema_name("sales".to_owned());
        assert!(refused("mysql://ann@h/d", schema.clone()).contains("is not for mysql://ann@h/d"));
        assert!(refused("mariadb://h/d", ServerOptions::new().row_security(true)).contains("is not for"));
        assert!(refused("postgres://h/d", ServerOptions::new().lock(true)).contains("is not for"));
        let filter = ServerOptions::new().filter("orders", "total > 10");
        assert!(refused("a.csv", filter).contains("no URL of one is named"));
        Load::new("x.db", ["postgres://h/d"]).server(schema).of_server().unwrap();
    }
}
