import { OAuthMetadataSchema, OpenIdProviderDiscoveryMetadataSchema } from '@modelcontextprotocol/sdk/shared/auth.js';
import { describe, expect, it } from 'vitest';
import { endpointPath, metadataPaths } from '../../contract/paths/public-paths.ts';
import { endpointUrl, serverMetadata } from './metadata.ts';
import { LOGIN_GRANT_TYPES } from './token-request.ts';

const ISSUER = 'https://gateway.example/team';
const FEATURES = {
  grantTypes: LOGIN_GRANT_TYPES,
  scopesSupported: ['openid', 'profile', 'email', 'offline_access'],
  audiences: ['https://gateway.example/team/mcp'],
  clientAuthenticationMethods: ['none'],
  assertionAlgorithms: ['RS256', 'EdDSA'],
  signingAlgorithms: ['ES256', 'RS256', 'ES256'],
  clientIdMetadataDocuments: true,
};

const DOCUMENT = {
  issuer: ISSUER,
  authorization_endpoint: `${ISSUER}/oauth/authorize`,
  token_endpoint: `${ISSUER}/oauth/token`,
  registration_endpoint: `${ISSUER}/oauth/register`,
  revocation_endpoint: `${ISSUER}/oauth/revoke`,
  introspection_endpoint: `${ISSUER}/oauth/introspect`,
  userinfo_endpoint: `${ISSUER}/oauth/userinfo`,
  end_session_endpoint: `${ISSUER}/oauth/logout`,
  jwks_uri: `${ISSUER}/.well-known/jwks.json`,
  response_types_supported: ['code'],
  response_modes_supported: ['query'],
  grant_types_supported: ['authorization_code', 'refresh_token'],
  code_challenge_methods_supported: ['S256'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['ES256', 'RS256'],
  token_endpoint_auth_methods_supported: ['none'],
  revocation_endpoint_auth_methods_supported: ['none'],
  scopes_supported: ['openid', 'profile', 'email', 'offline_access'],
  authorization_response_iss_parameter_supported: true,
  request_uri_parameter_supported: false,
  client_id_metadata_document_supported: true,
  protected_resources: ['https://gateway.example/team/mcp'],
};

describe('authorization server metadata', () => {
  it('satisfies RFC 8414 and OpenID Connect Discovery', () => {
    const document = serverMetadata({ issuer: ISSUER }, FEATURES);
    expect(document).toEqual(DOCUMENT);
    expect(OAuthMetadataSchema.parse(document)).toMatchObject({ issuer: ISSUER });
    expect(OpenIdProviderDiscoveryMetadataSchema.parse(document)).toMatchObject({ issuer: ISSUER });
  });

  it('has no userinfo endpoint when openid is not supported', () => {
    expect(serverMetadata({ issuer: ISSUER }, { ...FEATURES, scopesSupported: ['mcp'] })).not.toHaveProperty(
      'userinfo_endpoint',
    );
  });

  it('uses authorizationEndpointBaseUrl for authorization_endpoint only', () => {
    const urls = { issuer: ISSUER, authorizationEndpointBaseUrl: 'https://login.example/x' };
    const changed = { authorization_endpoint: 'https://login.example/x/oauth/authorize' };
    expect(serverMetadata(urls, FEATURES)).toEqual({ ...DOCUMENT, ...changed });
    expect(endpointUrl('consent', urls)).toBe(`${ISSUER}/oauth/consent`);
  });

  it('lists only methods with a secret for introspection', () => {
    const methods = ['none', 'client_secret_basic', 'client_secret_post'];
    expect(serverMetadata({ issuer: ISSUER }, { ...FEATURES, clientAuthenticationMethods: methods })).toEqual({
      ...DOCUMENT,
      token_endpoint_auth_methods_supported: methods,
      revocation_endpoint_auth_methods_supported: methods,
      introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    });
  });

  it('lists signing algorithms when clients may authenticate with assertions', () => {
    const methods = ['none', 'private_key_jwt'];
    expect(serverMetadata({ issuer: ISSUER }, { ...FEATURES, clientAuthenticationMethods: methods })).toEqual({
      ...DOCUMENT,
      token_endpoint_auth_methods_supported: methods,
      token_endpoint_auth_signing_alg_values_supported: ['RS256', 'EdDSA'],
      revocation_endpoint_auth_methods_supported: methods,
      revocation_endpoint_auth_signing_alg_values_supported: ['RS256', 'EdDSA'],
      introspection_endpoint_auth_methods_supported: ['private_key_jwt'],
      introspection_endpoint_auth_signing_alg_values_supported: ['RS256', 'EdDSA'],
    });
  });

  it.each([
    ['https://gateway.example', '', '/oauth/token'],
    [ISSUER, '/team', '/team/oauth/token'],
    ['http://127.0.0.1:4483/a/b', '/a/b', '/a/b/oauth/token'],
  ])('of %s is at the paths of the RFCs', (issuer, path, token) => {
    const names = ['oauth-authorization-server', 'openid-configuration'];
    const both = names.flatMap((name) => [`/.well-known/${name}${path}`, `${path}/.well-known/${name}`]);
    expect(metadataPaths(issuer)).toEqual([...new Set(both)]);
    expect(endpointPath('token', issuer)).toBe(token);
    expect(new URL(endpointUrl('token', { issuer })).pathname).toBe(token);
  });
});
