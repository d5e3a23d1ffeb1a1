CREATE TABLE user (
  id     INTEGER NOT NULL PRIMARY KEY,
  area   CHAR(6),            -- gen: digits(6)
  age    INTEGER NOT NULL,   -- gen: choice(5, 10, 15)
  active INTEGER NOT NULL    -- gen: choice(0, 1)
);
CREATE INDEX by_half ON user (area) WHERE active = 1;
