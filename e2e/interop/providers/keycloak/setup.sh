# setup.sh
kcadm() { bash bin/kcadm.sh "$@"; }
kcadm config credentials --server http://127.0.0.1:8180 --realm master --user admin --password admin
kcadm create realms -s realm=mcp -s enabled=true

# A user.
kcadm create users -r mcp -s username=alice -s enabled=true -s email=alice@example.com -s emailVerified=true \
  -s firstName=Alice -s lastName=Example
kcadm set-password -r mcp --username alice --new-password password-of-alice

# Scope "mcp": its tokens are for the gateway, and the gateway may exchange them.
scope=$(kcadm create client-scopes -r mcp -i -s name=mcp -s protocol=openid-connect \
  -s 'attributes."include.in.token.scope"=true')
kcadm create "client-scopes/$scope/protocol-mappers/models" -r mcp -s name=gateway -s protocol=openid-connect \
  -s protocolMapper=oidc-audience-mapper -s 'config."access.token.claim"=true' \
  -s 'config."included.custom.audience"=http://127.0.0.1:4483/mcp'
kcadm create "client-scopes/$scope/protocol-mappers/models" -r mcp -s name=exchange -s protocol=openid-connect \
  -s protocolMapper=oidc-audience-mapper -s 'config."access.token.claim"=true' \
  -s 'config."included.custom.audience"=vmcp'

# The MCP client: public, any port of a loopback address.
client=$(kcadm create clients -r mcp -i -s clientId=mcp-client -s publicClient=true \
  -s 'redirectUris=["http://127.0.0.1/callback"]' -s 'attributes."pkce.code.challenge.method"=S256')
kcadm update "clients/$client/optional-client-scopes/$scope" -r mcp

# The gateway: logs users in, and exchanges tokens.
gateway=$(kcadm create clients -r mcp -i -s clientId=vmcp -s secret=secret-of-vmcp \
  -s 'redirectUris=["http://127.0.0.1:4483/oauth/callback"]' -s 'attributes."standard.token.exchange.enabled"=true')

# The server behind the gateway: tokens that the gateway gets are for it.
kcadm create clients -r mcp -s clientId=orders -s standardFlowEnabled=false
orders=$(kcadm create client-scopes -r mcp -i -s name=orders -s protocol=openid-connect)
kcadm create "client-scopes/$orders/protocol-mappers/models" -r mcp -s name=orders -s protocol=openid-connect \
  -s protocolMapper=oidc-audience-mapper -s 'config."access.token.claim"=true' \
  -s 'config."included.client.audience"=orders'
kcadm update "clients/$gateway/default-client-scopes/$orders" -r mcp
