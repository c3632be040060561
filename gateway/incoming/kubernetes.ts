import { Type } from 'typebox';
import { Closed, DnsLabel, HttpUrl } from '../contract/fields.ts';
import { flag, text } from '../contract/optional.ts';
import { safeUrl } from '../contract/rule.ts';
import { declareIncoming } from './mode.ts';

/** The cluster's own service account tokens: what a shared MCPOIDCConfig says once for all its users. */
export const serviceAccountFields = {
  issuer: Type.Optional(
    HttpUrl('Issuer; read from the API server when absent. Required outside a cluster.', { maxLength: 2048 }),
  ),
  jwksUrl: Type.Optional(
    HttpUrl('Key set; that of the API server when absent. Required outside a cluster.', { maxLength: 2048 }),
  ),
  introspectionUrl: Type.Optional(HttpUrl('RFC 7662 endpoint.', { maxLength: 2048 })),
  serviceAccount: text('Accept tokens of this service account only.', { minLength: 1, maxLength: 253 }),
  namespace: Type.Optional(DnsLabel('Accept tokens of this namespace only.')),
  allowPrivateIPs: flag('Let the endpoints resolve to private addresses; those of the API server always may.'),
  insecureAllowHTTP: flag('Let the endpoints be spoken to without TLS.'),
  useClusterAuth: flag('Use the pod’s CA file and token towards the API server.', { default: true }),
};

export const serviceAccountRules = [safeUrl('', 'issuer'), safeUrl('', 'jwksUrl'), safeUrl('', 'introspectionUrl')];

/** In-cluster service account tokens, the API server being the issuer. */
export const kubernetes = declareIncoming({
  type: 'kubernetes',
  description: 'In-cluster service account tokens.',
  supported: false,
  spec: Closed(
    {
      ...serviceAccountFields,
      audience: text('Expected `aud`.', { default: 'vmcp', minLength: 1, maxLength: 2048 }),
    },
    { description: 'May be set when `type` is `kubernetes`.' },
  ),
  rules: serviceAccountRules,
});
