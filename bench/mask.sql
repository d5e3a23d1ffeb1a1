-- The masks of the preset shop that `bench/databases mask` uses.
CREATE TABLE customers (
  id,          -- gen: permute()
  first_name,  -- gen: first_name()
  last_name,   -- gen: last_name()
  email,       -- gen: email()
  phone,       -- gen: shape()
  street,      -- gen: street()
  postcode,    -- gen: shape()
  created_at   -- gen: shift(30, id)
);
CREATE TABLE orders (
  ordered_at   -- gen: shift(30, customer_id)
);
