#!/bin/sh
# Creates the folders of compose.yaml: `secrets`, and `state` for the data of the platform. A second run changes nothing.
set -eu
cd "$(dirname "$0")"
# The container writes as user 10001; the outer folder keeps other accounts of this machine out.
mkdir -p -m 700 state
mkdir -p -m 777 state/switchyard
chmod 777 state/switchyard
[ ! -e secrets ] || exit 0
mkdir -m 700 secrets.new
cd secrets.new
random() { openssl rand -hex 16; }
database=$(random)
nats=$(random)
printf %s "$database" > database-password
printf %s "postgresql://switchyard:$database@postgres/switchyard" > database-url
printf %s "nats://switchyard:$nats@nats:4222" > nats-url
printf 'authorization { user: switchyard, password: "%s" }\n' "$nats" > nats-users
random > grafana-password
openssl rand -base64 32 > platform-key
openssl rand -base64 32 > vault-key
# The containers read the files as other users.
chmod 644 ./*
cd ..
mv secrets.new secrets
