#!/usr/bin/env bash
# Creates the CA, the certificates, the ServiceAccount keys and the kubeconfigs under $RUN.
#   pki.sh SERVER_URL EXTRA_SAN light|control-plane|node
set -euo pipefail
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"
server=$1
mkdir -p "$RUN/pki"
cd "$RUN/pki"
umask 077

key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }

# cert FILE SUBJECT [SAN]
cert() {
  key "$1"
  openssl req -new -key "$1.key" -subj "$2" -out "$1.csr"
  printf 'keyUsage=digitalSignature\nextendedKeyUsage=serverAuth,clientAuth\n%s\n' "${3:+subjectAltName=$3}" >"$1.ext"
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -extfile "$1.ext" -out "$1.crt" 2>/dev/null
  rm "$1.csr" "$1.ext"
}

# client FILE SUBJECT: creates a client certificate and its kubeconfig.
client() {
  cert "$1" "$2"
  cat >"$RUN/$1.kubeconfig" <<YAML
apiVersion: v1
kind: Config
clusters: [{ name: test, cluster: { server: "$server", certificate-authority-data: "$(base64 -w0 ca.crt)" } }]
users: [{ name: me, user: { client-certificate-data: "$(base64 -w0 "$1.crt")", client-key-data: "$(base64 -w0 "$1.key")" } }]
contexts: [{ name: test, context: { cluster: test, user: me } }]
current-context: test
YAML
}

key ca
openssl req -x509 -new -key ca.key -subj /CN=test-cluster -days 30 -addext keyUsage=critical,keyCertSign,digitalSignature -out ca.crt
openssl genrsa -out sa.key 2048 2>/dev/null   # RS256, as kubeadm makes it
openssl rsa -in sa.key -pubout -out sa.pub 2>/dev/null
cert apiserver /CN=kube-apiserver \
  "DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local,IP:127.0.0.1,IP:$APISERVER_IP,$2"
client admin /O=system:masters/CN=admin
[[ $3 == light ]] && exit 0
client kube-controller-manager /CN=system:kube-controller-manager
[[ $3 == control-plane ]] && exit 0
cert kubelet /CN=node "DNS:node,IP:$NODE_IP"
cert apiserver-kubelet /O=system:masters/CN=apiserver-kubelet
cert front-proxy /CN=front-proxy
client kubelet-client /O=system:nodes/CN=system:node:node
client kube-scheduler /CN=system:kube-scheduler
client kube-proxy /CN=system:kube-proxy
