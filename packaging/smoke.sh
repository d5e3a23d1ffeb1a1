#!/bin/sh
# Tests the command sqluice with one small load, export, generation, index, copy and check, and with a damaged database. Needs only a shell.
#
#   smoke.sh [PROGRAM]
set -eu
sqluice=${1:-sqluice}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
    echo "smoke: $*" >&2
    exit 1
}
# Runs the program with these arguments. Shows its output only if it fails.
run() {
    "$sqluice" "$@" >"$folder/printed" 2>&1 || fail "sqluice $*: $(cat "$folder/printed")"
}

"$sqluice" --version

printf 'id,name,born\n2,Zoë,2001-02-03\n1,"Ann ""A"" Lee",1999-12-31\n3,,\n' >"$folder/in.csv"
printf 'id,name,born\n1,"Ann ""A"" Lee",1999-12-31\n2,Zoë,2001-02-03\n3,,\n' >"$folder/expected.csv"
run load "$folder/x.db" "$folder/in.csv" --primary-key id --index name
run export "$folder/x.db" in --to "$folder/out.csv"
[ "$(cat "$folder/out.csv")" = "$(cat "$folder/expected.csv")" ] || fail "exported: $(cat "$folder/out.csv")"

run generate "$folder/user.db" --preset user --rows 200k --threads 2
run index "$folder/user.db" 'CREATE INDEX user_by_area ON user (area)'
run export "$folder/user.db" user --to "$folder/user.parquet"
run load "$folder/again.db" "$folder/user.parquet"
run copy "$folder/user.db" "$folder/copy.db"
for database in x user again copy; do
    run check --full "$folder/$database.db"
done
grep -q '200,000 rows' "$folder/printed" || fail "200,000 rows were generated and copied: $(cat "$folder/printed")"

# `check` must fail for a damaged database.
dd if=/dev/zero of="$folder/copy.db" bs=4096 seek=7 count=1 conv=notrunc 2>/dev/null
if "$sqluice" check "$folder/copy.db" >/dev/null 2>&1; then
    fail "a page of zeros was not noticed"
fi
echo "smoke: it works"
