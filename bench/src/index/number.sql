CREATE TABLE user (
  id     INTEGER NOT NULL PRIMARY KEY,
  number INTEGER NOT NULL    -- gen: int(0, 2000000000)
);
CREATE INDEX by_number ON user (number);
