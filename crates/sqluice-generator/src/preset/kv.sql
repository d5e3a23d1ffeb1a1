-- A text of 20 letters and digits comes twice by chance only among more rows than there are disks for.
CREATE TABLE kv (
  k TEXT PRIMARY KEY,  -- gen: text(20, 20)
  v BLOB               -- gen: choice(blob(16, 64): 6, blob(65, 256): 3, blob(257, 1000): 1)
) WITHOUT ROWID;
