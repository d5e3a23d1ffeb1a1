#!/bin/sh
# Loads, generates, indexes, checks, copies and exports with the command sqluice, and compares what returns with what went in. Needs nothing
# but a shell.
#
#   smoke.sh [PROGRAM]
set -eu
sqluice=${1:-sqluice}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# wants COMMAND... -- prints what failed, and ends.
fail() {
    echo "smoke: $*" >&2
    exit 1
}

"$sqluice" --version

printf 'id,name,born\n2,Zoë,2001-02-03\n1,"Ann ""A"" Lee",1999-12-31\n3,,\n' >"$folder/in.csv"
"$sqluice" load "$folder/x.db" "$folder/in.csv" --primary-key id --index name >/dev/null
"$sqluice" export "$folder/x.db" in --to "$folder/out.csv" >/dev/null
printf 'id,name,born\n1,"Ann ""A"" Lee",1999-12-31\n2,Zoë,2001-02-03\n3,,\n' >"$folder/expected.csv"
[ "$(cat "$folder/out.csv")" = "$(cat "$folder/expected.csv")" ] || fail "exported: $(cat "$folder/out.csv")"

"$sqluice" generate "$folder/user.db" --preset user --rows 200k --threads 2 >/dev/null
"$sqluice" index "$folder/user.db" 'CREATE INDEX user_by_area ON user (area)' >/dev/null
"$sqluice" export "$folder/user.db" user --to "$folder/user.parquet" >/dev/null
"$sqluice" load "$folder/again.db" "$folder/user.parquet" >/dev/null
"$sqluice" copy "$folder/user.db" "$folder/copy.db" >/dev/null
for database in x user again copy; do
    "$sqluice" check --full "$folder/$database.db" >"$folder/checked" || fail "$database.db: $(cat "$folder/checked")"
done
case $(cat "$folder/checked") in
    sound:\ 200,000\ rows*) ;;
    *) fail "200,000 rows were generated and copied, but check says: $(cat "$folder/checked")" ;;
esac

# A damaged database is found out: the checks above can fail.
dd if=/dev/zero of="$folder/copy.db" bs=4096 seek=7 count=1 conv=notrunc 2>/dev/null
if "$sqluice" check "$folder/copy.db" >/dev/null 2>&1; then
    fail "a page of zeros was not noticed"
fi
echo "smoke: it works"
