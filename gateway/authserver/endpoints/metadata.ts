import { ALGORITHMS } from '../../incoming/tokens/jwt.ts';
import { type Operation, sendPublicJson } from '../../http/endpoint/operation.ts';
import type { AuthServerContext } from '../context.ts';
import { supportedGrantTypes } from '../tokens/index.ts';
import { endpointPath, metadataPaths } from '../../contract/paths/public-paths.ts';
import { serverMetadata, type ServerFeatures } from '../core/metadata.ts';

/** Publishes the metadata document. @see RFC 8414 §3, OpenID Connect Discovery §4 */
export const metadataEndpoint = (context: AuthServerContext): readonly Operation[] => [
  {
    method: 'GET',
    paths: metadataPaths(context.settings.urls.issuer),
    cors: true,
    head: true,
    handle: (_req, res) => {
      sendPublicJson(res, serverMetadata(context.settings.urls, featuresOf(context)));
    },
  },
];

/** Evaluated for each request, because the keys may change. */
const featuresOf = ({ settings, keys, clients }: AuthServerContext): ServerFeatures => {
  const { metadata, documents } = settings.clients;
  const hasSecrets = metadata.allowConfidential || (settings.delegation?.clients ?? []).length > 0;
  return {
    grantTypes: supportedGrantTypes(settings),
    scopesSupported: settings.scopesSupported,
    audiences: settings.audiences,
    clientAuthenticationMethods: [
      'none',
      ...(hasSecrets ? ['client_secret_basic', 'client_secret_post'] : []),
      ...(documents ? ['private_key_jwt'] : []),
    ],
    assertionAlgorithms: ALGORITHMS,
    signingAlgorithms: keys.algorithms(),
    clientIdMetadataDocuments: clients.documents().advertised,
  };
};

/** Publishes the public keys of all signing keys. @see RFC 7517 §5 */
export const jwksEndpoint = ({ settings, keys }: AuthServerContext): readonly Operation[] => [
  {
    method: 'GET',
    paths: [endpointPath('jwks', settings.urls.issuer)],
    cors: true,
    head: true,
    handle: (_req, res) => {
      sendPublicJson(res, keys.jwks());
    },
  },
];
