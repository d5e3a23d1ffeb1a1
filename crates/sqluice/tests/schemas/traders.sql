-- A company that imports food and sells it on.
CREATE TABLE category (
  category_id   INTEGER PRIMARY KEY,
  category_name TEXT NOT NULL UNIQUE,
  description   TEXT,
  picture       BLOB
);
CREATE TABLE supplier (
  supplier_id  INTEGER PRIMARY KEY,
  company_name TEXT NOT NULL,
  contact_name TEXT,
  address      TEXT,
  city         TEXT,
  postal_code  TEXT,
  country      TEXT,
  homepage     TEXT
);
CREATE TABLE product (
  product_id        INTEGER PRIMARY KEY AUTOINCREMENT,
  product_name      TEXT NOT NULL,
  supplier_id       INTEGER REFERENCES supplier,
  category_id       INTEGER REFERENCES category,
  quantity_per_unit TEXT,
  unit_price        NUMERIC DEFAULT 0 CHECK (unit_price >= 0),
  units_in_stock    INTEGER DEFAULT 0 CHECK (units_in_stock >= 0),
  reorder_level     INTEGER DEFAULT 0 CHECK (reorder_level >= 0),
  discontinued      TEXT NOT NULL DEFAULT '0' CHECK (discontinued IN ('0', '1'))
);
CREATE TABLE customer (
  customer_id  TEXT PRIMARY KEY CHECK (length(customer_id) = 5),
  company_name TEXT NOT NULL,
  contact_name TEXT,
  phone        TEXT
) WITHOUT ROWID;
CREATE TABLE region (region_id INTEGER PRIMARY KEY, region_description TEXT NOT NULL);
CREATE TABLE territory (
  territory_id TEXT PRIMARY KEY,
  description  TEXT NOT NULL,
  region_id    INTEGER NOT NULL REFERENCES region
);
CREATE TABLE employee (
  employee_id INTEGER PRIMARY KEY,
  last_name   TEXT NOT NULL,
  first_name  TEXT NOT NULL,
  birth_date  DATE CHECK (birth_date < '2005-01-01'),
  hire_date   DATE,
  reports_to  INTEGER REFERENCES employee,
  photo       BLOB
);
CREATE TABLE employee_territory (
  employee_id  INTEGER NOT NULL REFERENCES employee,
  territory_id TEXT NOT NULL REFERENCES territory,
  PRIMARY KEY (employee_id, territory_id)
);
CREATE TABLE shipper (shipper_id INTEGER PRIMARY KEY, company_name TEXT NOT NULL, phone TEXT);
CREATE TABLE orders (
  order_id      INTEGER PRIMARY KEY,
  customer_id   TEXT REFERENCES customer,
  employee_id   INTEGER REFERENCES employee,
  order_date    DATETIME NOT NULL,
  shipped_date  DATETIME CHECK (shipped_date >= order_date),
  ship_via      INTEGER REFERENCES shipper,
  freight       NUMERIC DEFAULT 0 CHECK (freight >= 0),
  ship_city     TEXT,
  ship_country  TEXT
);
CREATE TABLE order_detail (
  order_id   INTEGER NOT NULL REFERENCES orders,
  product_id INTEGER NOT NULL REFERENCES product,
  unit_price NUMERIC NOT NULL CHECK (unit_price >= 0),
  quantity   INTEGER NOT NULL DEFAULT 1 CHECK (quantity > 0),
  discount   REAL NOT NULL DEFAULT 0 CHECK (discount >= 0 AND discount <= 1),
  PRIMARY KEY (order_id, product_id)
);
CREATE TABLE shipment (
  order_id   INTEGER NOT NULL,
  product_id INTEGER NOT NULL,
  crate      INTEGER NOT NULL CHECK (crate BETWEEN 1 AND 4),
  weight     REAL CHECK (weight > 0),
  FOREIGN KEY (order_id, product_id) REFERENCES order_detail (order_id, product_id)
);
CREATE INDEX orders_by_customer ON orders (customer_id, order_date DESC);
CREATE INDEX orders_unshipped ON orders (order_date) WHERE shipped_date IS NULL;
