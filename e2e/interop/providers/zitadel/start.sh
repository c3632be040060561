# start.sh
go install github.com/zitadel/oidc/v3/example/server@v3.52.0
REDIRECT_URI=http://127.0.0.1:33418/callback,http://127.0.0.1:4483/oauth/callback PORT=9998 $(go env GOPATH)/bin/server
