#!/bin/sh
# An OCI runtime for sandboxes without CAP_SYS_RESOURCE: runc, with the rlimits taken out of the bundle's config.json.
bundle=
previous=
for argument in "$@"; do
  case $previous in --bundle | -b) bundle=$argument ;; esac
  previous=$argument
done
if [ -n "$bundle" ]; then
  sed -i 's/,"rlimits":\[[^]]*\]//' "$bundle/config.json"
fi
exec /usr/sbin/runc "$@"
