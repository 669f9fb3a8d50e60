#!/bin/sh
# Creates the folders of compose.yaml: `secrets`, and `state` for the data of the platform. A second run changes nothing.
set -eu
cd "$(dirname "$0")"
# The container writes as user 10001; the outer folder keeps other accounts of this machine out.
mkdir -p state/switchyard
chmod 700 state
chmod 777 state/switchyard
[ ! -e secrets ] || exit 0
# Git and the image ignore `state`, also what an interrupted run leaves in it.
new=state/secrets.new
rm -rf "$new"
mkdir -m 700 "$new"
random() { openssl rand -hex 16; }
database=$(random)
nats=$(random)
printf %s "$database" > "$new/database-password"
printf %s "postgresql://switchyard:$database@postgres/switchyard" > "$new/database-url"
printf %s "nats://switchyard:$nats@nats:4222" > "$new/nats-url"
printf 'authorization { user: switchyard, password: "%s" }\n' "$nats" > "$new/nats-users"
random > "$new/grafana-password"
openssl rand -base64 32 > "$new/platform-key"
openssl rand -base64 32 > "$new/vault-key"
# The containers read the files as other users.
chmod 644 "$new"/*
mv "$new" secrets
