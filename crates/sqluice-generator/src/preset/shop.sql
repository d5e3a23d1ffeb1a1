-- A shop. Most orders are those of some customers, most items those of some products. An order comes after its customer's first day, an
-- item costs what its product costs, and money is in cents.

CREATE TABLE customers (
  id         INTEGER PRIMARY KEY,
  first_name TEXT NOT NULL,  -- gen: first_name()
  last_name  TEXT NOT NULL,  -- gen: last_name()
  email      TEXT NOT NULL,  -- gen: template('{lower(first_name)}.{lower(last_name)}{id}@{domain()}')
  phone      TEXT,           -- gen: null(0.2, phone())
  street     TEXT NOT NULL,  -- gen: street()
  city       TEXT NOT NULL,  -- gen: choice('London': 9, 'Berlin': 4, 'Madrid': 3, 'Rome': 3, 'Paris': 2, 'Vienna': 2, 'Warsaw': 2, city(): 25)
  postcode   TEXT NOT NULL,  -- gen: digits(5)
  created_at TEXT NOT NULL   -- gen: timestamp('2019-01-01 00:00:00', '2025-12-31 23:59:59')
);

CREATE TABLE products (
  id       INTEGER PRIMARY KEY,
  sku      TEXT NOT NULL,     -- gen: digits(8)
  name     TEXT NOT NULL,     -- gen: product()
  category TEXT NOT NULL,     -- gen: choice('outdoor': 25, 'home': 25, 'kitchen': 15, 'office': 15, 'workshop': 10, 'music': 6, 'electronics': 4)
  price    INTEGER NOT NULL,  -- gen: choice(int(199, 2_999): 70, int(3_000, 14_999): 25, int(15_000, 199_999): 5)
  stock    INTEGER NOT NULL   -- gen: choice(0: 5, int(1, 50): 60, int(51, 2_000): 35)
);

CREATE TABLE orders (
  id          INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customers (id),  -- gen: ref(customers.id, zipf(0.8))
  status      TEXT NOT NULL,                               -- gen: case(when ordered_at < '2025-12-25' then choice('delivered': 93, 'returned': 4, 'cancelled': 3) else choice('paid': 6, 'shipped': 4))
  ordered_at  TEXT NOT NULL                                -- gen: after(customer_id.created_at, 0, 2557, '2025-12-31 23:59:59')
);
CREATE INDEX orders_customer_id ON orders (customer_id);
CREATE INDEX orders_ordered_at ON orders (ordered_at);

CREATE TABLE items (
  id         INTEGER PRIMARY KEY,
  order_id   INTEGER NOT NULL REFERENCES orders (id),    -- gen: ref(orders.id)
  product_id INTEGER NOT NULL REFERENCES products (id),  -- gen: ref(products.id, zipf(0.8))
  quantity   INTEGER NOT NULL,                           -- gen: choice(1: 70, 2: 18, int(3, 5): 10, int(6, 24): 2)
  price      INTEGER NOT NULL                            -- gen: product_id.price
);
CREATE INDEX items_order_id ON items (order_id);
CREATE INDEX items_product_id ON items (product_id);
