CREATE TABLE item (
  id    INTEGER NOT NULL PRIMARY KEY,
  key   INTEGER NOT NULL,  -- gen: int(0, 999999999999)
  value INTEGER NOT NULL   -- gen: int(0, 999999)
);
CREATE INDEX by_key ON item (key);
