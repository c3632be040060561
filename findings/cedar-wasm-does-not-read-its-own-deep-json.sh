#!/usr/bin/env bash
# @cedar-policy/cedar-wasm 4.13.0: policyToJson() returns JSON that no function of the package reads again, from about 62 nested operators
# on. The text of the same policy is accepted. The reader of JSON stops at 128 levels, and an operator takes two. The failure is a thrown
# Error, and no answer of type "failure". A program that changes policies as JSON must keep the text for deep ones.
#
# Seen: 60: text success, json success
#       70: text success, json recursion limit exceeded
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund @cedar-policy/cedar-wasm@4.13.0
cat >deep.cjs <<'JS'
const { policyToJson, checkParsePolicySet } = require('@cedar-policy/cedar-wasm/nodejs');

for (const depth of [60, 70]) {
  const text = `permit(principal, action, resource) when { ${'true && '.repeat(depth)}true };`;
  const ofText = checkParsePolicySet({ staticPolicies: { one: text } }).type;
  let ofJson;
  try {
    ofJson = checkParsePolicySet({ staticPolicies: { one: policyToJson(text).json } }).type;
  } catch (error) {
    ofJson = error.message.replace(/ at line .*/, '');
  }
  console.log(`${depth}: text ${ofText}, json ${ofJson}`);
}
JS
node deep.cjs | tee seen
printf '%s\n' '60: text success, json success' '70: text success, json recursion limit exceeded' | diff - seen
