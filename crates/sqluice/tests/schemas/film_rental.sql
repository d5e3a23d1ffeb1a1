-- Shops that rent films out.
CREATE TABLE language (language_id INTEGER PRIMARY KEY, name CHAR(20) NOT NULL, last_update TIMESTAMP NOT NULL);
CREATE TABLE country (country_id INTEGER PRIMARY KEY, country VARCHAR(50) NOT NULL UNIQUE);
CREATE TABLE city (
  city_id    INTEGER PRIMARY KEY,
  city       VARCHAR(50) NOT NULL,
  country_id INTEGER NOT NULL REFERENCES country ON DELETE CASCADE
);
CREATE TABLE address (
  address_id  INTEGER PRIMARY KEY,
  address     VARCHAR(50) NOT NULL,
  address2    VARCHAR(50) DEFAULT NULL,
  district    VARCHAR(20) NOT NULL,
  city_id     INTEGER NOT NULL REFERENCES city,
  postal_code VARCHAR(10),
  phone       VARCHAR(20) NOT NULL
);
CREATE TABLE actor (
  actor_id   INTEGER PRIMARY KEY,
  first_name VARCHAR(45) NOT NULL,
  last_name  VARCHAR(45) NOT NULL,
  UNIQUE (first_name, last_name)
);
CREATE TABLE category (category_id INTEGER PRIMARY KEY, name VARCHAR(25) NOT NULL UNIQUE COLLATE NOCASE);
CREATE TABLE film (
  film_id              INTEGER PRIMARY KEY,
  title                VARCHAR(255) NOT NULL,
  description          TEXT,
  release_year         INTEGER CHECK (release_year BETWEEN 1901 AND 2155),
  language_id          INTEGER NOT NULL REFERENCES language,
  original_language_id INTEGER REFERENCES language,
  rental_duration      SMALLINT NOT NULL DEFAULT 3 CHECK (rental_duration > 0),
  rental_rate          DECIMAL(4, 2) NOT NULL DEFAULT 4.99,
  length               SMALLINT,
  replacement_cost     DECIMAL(5, 2) NOT NULL DEFAULT 19.99,
  rating               VARCHAR(10) DEFAULT 'G' CHECK (rating IN ('G', 'PG', 'PG-13', 'R', 'NC-17')),
  special_features     VARCHAR(100) CHECK (special_features IS NULL OR special_features LIKE '%Trailers%'
                       OR special_features LIKE '%Scenes%'), -- gen: choice('Trailers', 'Deleted Scenes', 'Trailers,Scenes', NULL)
  slug                 TEXT AS (lower(replace(title, ' ', '-'))) STORED
);
CREATE TABLE film_actor (
  actor_id INTEGER NOT NULL REFERENCES actor,
  film_id  INTEGER NOT NULL REFERENCES film,
  PRIMARY KEY (actor_id, film_id)
);
CREATE TABLE film_category (
  film_id     INTEGER NOT NULL REFERENCES film,
  category_id INTEGER NOT NULL REFERENCES category,
  PRIMARY KEY (film_id, category_id)
) WITHOUT ROWID;
CREATE TABLE store (
  store_id   INTEGER PRIMARY KEY,
  manager_id INTEGER NOT NULL UNIQUE REFERENCES staff (staff_id),
  address_id INTEGER NOT NULL REFERENCES address
);
CREATE TABLE staff (
  staff_id   INTEGER PRIMARY KEY,
  first_name VARCHAR(45) NOT NULL,
  last_name  VARCHAR(45) NOT NULL,
  address_id INTEGER NOT NULL REFERENCES address,
  store_id   INTEGER NOT NULL REFERENCES store,
  email      VARCHAR(50),
  active     SMALLINT NOT NULL DEFAULT 1,
  username   VARCHAR(16) NOT NULL UNIQUE,
  password   VARCHAR(40)
);
CREATE TABLE customer (
  customer_id INTEGER PRIMARY KEY,
  store_id    INTEGER NOT NULL REFERENCES store,
  first_name  VARCHAR(45) NOT NULL,
  last_name   VARCHAR(45) NOT NULL,
  email       VARCHAR(50),
  address_id  INTEGER NOT NULL REFERENCES address,
  active      CHAR(1) NOT NULL DEFAULT 'Y' CHECK (active = 'Y' OR active = 'N'),
  create_date TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE inventory (
  inventory_id INTEGER PRIMARY KEY,
  film_id      INTEGER NOT NULL REFERENCES film,
  store_id     INTEGER NOT NULL REFERENCES store
);
CREATE TABLE rental (
  rental_id    INTEGER PRIMARY KEY,
  rental_date  TIMESTAMP NOT NULL,
  inventory_id INTEGER NOT NULL REFERENCES inventory,
  customer_id  INTEGER NOT NULL REFERENCES customer,
  return_date  TIMESTAMP CHECK (return_date IS NULL OR return_date >= rental_date),
  staff_id     INTEGER NOT NULL REFERENCES staff,
  UNIQUE (rental_date, inventory_id, customer_id)
);
CREATE TABLE payment (
  payment_id   INTEGER PRIMARY KEY,
  customer_id  INTEGER NOT NULL REFERENCES customer,
  staff_id     INTEGER NOT NULL REFERENCES staff,
  rental_id    INTEGER REFERENCES rental,
  amount       DECIMAL(5, 2) NOT NULL CHECK (amount > 0),
  payment_date TIMESTAMP NOT NULL
);
