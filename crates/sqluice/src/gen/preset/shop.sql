-- A shop. Most orders are those of a few customers, most items those of a few products, and money is in cents.

CREATE TABLE customers (
  id         INTEGER PRIMARY KEY,
  first_name TEXT NOT NULL,  -- gen: choice('Mary': 9, 'James': 9, 'Anna': 8, 'John': 8, 'Maria': 7, 'Peter': 6, 'Sofia': 6, 'Lucas': 5, 'Emma': 5, 'Ali': 4, 'Olga': 4, 'Hugo': 4, 'Ines': 3, 'Yuki': 3, 'Chen': 3, 'Priya': 3, 'Amara': 2, 'Björn': 2, 'Zoë': 2, 'Ngozi': 1)
  last_name  TEXT NOT NULL,  -- gen: choice('Smith': 12, 'Garcia': 9, 'Müller': 8, 'Johnson': 8, 'Wang': 7, 'Silva': 6, 'Martin': 6, 'Kumar': 5, 'Rossi': 5, 'Novak': 4, 'Ivanov': 4, 'Nguyen': 4, 'Sato': 3, 'Kim': 3, 'Hansen': 3, 'O''Brien': 2, 'Okafor': 2, 'Kowalski': 2, 'de Vries': 1, 'Haddad': 1)
  email      TEXT AS (lower(first_name) || id || '@example.com'),
  phone      TEXT,           -- gen: null(0.2, digits(10))
  city       TEXT NOT NULL,  -- gen: choice('London': 90, 'Berlin': 37, 'Madrid': 33, 'Rome': 28, 'Paris': 21, 'Vienna': 20, 'Hamburg': 19, 'Warsaw': 19, 'Barcelona': 16, 'Munich': 15, 'Milan': 14, 'Prague': 13, 'Cologne': 11, 'Lisbon': 6, 'Oslo': 7, 'Dublin': 6, 'Ghent': 3)
  postcode   TEXT NOT NULL,  -- gen: digits(5)
  created_at TEXT NOT NULL   -- gen: timestamp('2019-01-01 00:00:00', '2024-12-31 23:59:59')
);

CREATE TABLE products (
  id       INTEGER PRIMARY KEY,
  sku      TEXT NOT NULL,     -- gen: digits(8)
  category TEXT NOT NULL,     -- gen: choice('books': 30, 'clothes': 22, 'toys': 14, 'garden': 10, 'kitchen': 10, 'sports': 8, 'music': 4, 'electronics': 2)
  price    INTEGER NOT NULL,  -- gen: choice(int(199, 2_999): 70, int(3_000, 14_999): 25, int(15_000, 199_999): 5)
  stock    INTEGER NOT NULL   -- gen: choice(0: 5, int(1, 50): 60, int(51, 2_000): 35)
);

CREATE TABLE orders (
  id          INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customers (id),  -- gen: choice(int(1, {customers/50}): 25, int(1, {customers/5}): 45, int(1, {customers}): 30)
  status      TEXT NOT NULL,                               -- gen: choice('delivered': 80, 'shipped': 8, 'paid': 5, 'returned': 4, 'cancelled': 3)
  ordered_at  TEXT NOT NULL                                -- gen: timestamp('2019-01-01 00:00:00', '2024-12-31 23:59:59')
);
CREATE INDEX orders_customer_id ON orders (customer_id);
CREATE INDEX orders_ordered_at ON orders (ordered_at);

CREATE TABLE items (
  id         INTEGER PRIMARY KEY,
  order_id   INTEGER NOT NULL REFERENCES orders (id),    -- gen: int(1, {orders})
  product_id INTEGER NOT NULL REFERENCES products (id),  -- gen: choice(int(1, {products/50}): 35, int(1, {products/5}): 40, int(1, {products}): 25)
  quantity   INTEGER NOT NULL,                           -- gen: choice(1: 70, 2: 18, int(3, 5): 10, int(6, 24): 2)
  price      INTEGER NOT NULL                            -- gen: choice(int(199, 2_999): 70, int(3_000, 14_999): 25, int(15_000, 199_999): 5)
);
CREATE INDEX items_order_id ON items (order_id);
CREATE INDEX items_product_id ON items (product_id);
