-- A shop that sells music by the track.
CREATE TABLE artist (artist_id INTEGER PRIMARY KEY, name VARCHAR(120));
CREATE TABLE album (
  album_id  INTEGER PRIMARY KEY,
  title     VARCHAR(160) NOT NULL,
  artist_id INTEGER NOT NULL REFERENCES artist (artist_id)
);
CREATE TABLE genre (genre_id INTEGER PRIMARY KEY, name VARCHAR(120) UNIQUE);
CREATE TABLE media_type (media_type_id INTEGER PRIMARY KEY, name VARCHAR(120));
CREATE TABLE track (
  track_id      INTEGER PRIMARY KEY,
  name          VARCHAR(200) NOT NULL,
  album_id      INTEGER REFERENCES album,
  media_type_id INTEGER NOT NULL REFERENCES media_type,
  genre_id      INTEGER REFERENCES genre,
  composer      VARCHAR(220),
  milliseconds  INTEGER NOT NULL CHECK (milliseconds > 0),
  bytes         INTEGER,
  unit_price    NUMERIC(10, 2) NOT NULL CHECK (unit_price >= 0)
);
CREATE TABLE employee (
  employee_id INTEGER PRIMARY KEY,
  last_name   VARCHAR(20) NOT NULL,
  first_name  VARCHAR(20) NOT NULL,
  title       VARCHAR(30),
  reports_to  INTEGER REFERENCES employee (employee_id),
  birth_date  DATETIME,
  hire_date   DATETIME,
  address     VARCHAR(70),
  city        VARCHAR(40),
  country     VARCHAR(40),
  phone       VARCHAR(24),
  email       VARCHAR(60) UNIQUE
);
CREATE TABLE customer (
  customer_id    INTEGER PRIMARY KEY,
  first_name     VARCHAR(40) NOT NULL,
  last_name      VARCHAR(20) NOT NULL,
  company        VARCHAR(80),
  address        VARCHAR(70),
  city           VARCHAR(40),
  state          VARCHAR(40),
  country        VARCHAR(40),
  postal_code    VARCHAR(10),
  phone          VARCHAR(24),
  fax            VARCHAR(24),
  email          VARCHAR(60) NOT NULL UNIQUE CHECK (email LIKE '%_@_%._%'),
  support_rep_id INTEGER REFERENCES employee (employee_id)
);
CREATE TABLE invoice (
  invoice_id      INTEGER PRIMARY KEY,
  customer_id     INTEGER NOT NULL REFERENCES customer,
  invoice_date    DATETIME NOT NULL,
  billing_address VARCHAR(70),
  billing_city    VARCHAR(40),
  billing_country VARCHAR(40),
  total           NUMERIC(10, 2) NOT NULL
);
CREATE TABLE invoice_line (
  invoice_line_id INTEGER PRIMARY KEY,
  invoice_id      INTEGER NOT NULL REFERENCES invoice,
  track_id        INTEGER NOT NULL REFERENCES track,
  unit_price      NUMERIC(10, 2) NOT NULL,
  quantity        INTEGER NOT NULL CHECK (quantity BETWEEN 1 AND 99)
);
CREATE TABLE playlist (playlist_id INTEGER PRIMARY KEY, name VARCHAR(120));
CREATE TABLE playlist_track (
  playlist_id INTEGER NOT NULL REFERENCES playlist,
  track_id    INTEGER NOT NULL REFERENCES track,
  PRIMARY KEY (playlist_id, track_id)
) WITHOUT ROWID;
CREATE INDEX album_by_artist ON album (artist_id);
CREATE INDEX track_by_album ON track (album_id);
CREATE INDEX invoice_by_customer ON invoice (customer_id);
CREATE INDEX line_by_invoice ON invoice_line (invoice_id);
