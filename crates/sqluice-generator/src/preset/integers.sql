CREATE TABLE integers (
  id    INTEGER PRIMARY KEY,
  value INTEGER NOT NULL       -- gen: int(0, 999_999_999)
);
