#!/usr/bin/env bash
# Makes an authority, certificates for the hook and for the server as its client, and a token, in the folder
# certificates. They are for a try: the authority is valid for a month.
set -euo pipefail
mkdir -p certificates
cd certificates
umask 077

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj "/CN=webhook-auth" \
  -keyout ca.key -out ca.crt 2>/dev/null

# sign NAME EXTENSIONS makes a key and a certificate.
sign() {
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$1" -keyout "$1.key" -out "$1.csr" 2>/dev/null
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -extfile <(echo "$2") -out "$1.crt" 2>/dev/null
  rm "$1.csr"
}
sign hook "subjectAltName=IP:127.0.0.1,DNS:webhook-auth.metacontroller
extendedKeyUsage=serverAuth"
sign client "extendedKeyUsage=clientAuth"

openssl rand -hex 32 >token
