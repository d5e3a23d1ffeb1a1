CREATE TABLE lineitem (
  l_orderkey      INTEGER,
  l_partkey       INTEGER,
  l_suppkey       INTEGER,
  l_linenumber    INTEGER,
  l_quantity      REAL,
  l_extendedprice REAL,
  l_discount      REAL,
  l_tax           REAL,
  l_returnflag    TEXT,
  l_linestatus    TEXT,
  l_shipdate      TEXT,
  l_commitdate    TEXT,
  l_receiptdate   TEXT,
  l_shipinstruct  TEXT,
  l_shipmode      TEXT,
  l_comment       TEXT
);
