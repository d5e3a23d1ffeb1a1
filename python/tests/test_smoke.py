import sqlite3, sqluice
def test_smoke(tmp_path):
    r = sqluice.write(tmp_path/"a.db", [(1,"a",2.5,b"x",None),(2,"b",3.0,None,None)], "t", columns=list("abcde"))
    print(r)
    c = sqlite3.connect(tmp_path/"a.db")
    print(c.execute("select * from t").fetchall(), c.execute("select sql from sqlite_schema").fetchall())
