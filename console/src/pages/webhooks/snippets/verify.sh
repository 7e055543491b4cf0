#!/bin/sh
# Usage: SECRET=whsec_... ./verify.sh ID TIMESTAMP SIGNATURES < body
case $SECRET in
  whsec_*) key=$(printf %s "${SECRET#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \n') ;;
  *) key=$(printf %s "$SECRET" | od -An -v -tx1 | tr -d ' \n') ;;
esac
age=$(( $(date +%s) - $2 ))
[ "${age#-}" -le 300 ] || { echo "too old"; exit 1; }
mac=$({ printf %s "$1.$2."; cat; } |
  openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | openssl base64 -A)
for signature in $3; do
  [ "$signature" = "v1,$mac" ] && { echo "genuine"; exit 0; }
done
echo "not genuine"
exit 1
