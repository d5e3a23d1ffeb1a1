CREATE TABLE plain (
  id    INTEGER NOT NULL PRIMARY KEY,
  name  TEXT NOT NULL,
  price REAL NOT NULL,
  stock INTEGER NOT NULL
);
CREATE INDEX plain_by_name ON plain (name);
CREATE INDEX plain_by_stock ON plain (stock);
CREATE TABLE product (
  id    INTEGER NOT NULL PRIMARY KEY,
  name  TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 40),
  price REAL NOT NULL,
  stock INTEGER NOT NULL CHECK (stock >= 0),
  value REAL GENERATED ALWAYS AS (price * stock) STORED
);
CREATE INDEX product_by_name ON product (lower(name));
CREATE INDEX product_by_stock ON product (stock) WHERE stock >= 50;
