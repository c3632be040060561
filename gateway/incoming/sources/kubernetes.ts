import { Type, type Static, type TObject } from 'typebox';
import { Closed, DnsLabel, HttpUrl } from '../../contract/fields.ts';
import { flag, text } from '../../contract/optional.ts';
import { safeUrl } from '../../contract/rule.ts';
import { isApiServerName } from '../../outbound/address-class.ts';
import { defineSource, type ResolvedSource, type SourceScope } from '../mode.ts';
import { createServiceAccountValidator } from '../tokens/service-account-validator.ts';

/** Fields of service account tokens, which a shared MCPOIDCConfig has too. */
export const serviceAccountFields = {
  issuer: Type.Optional(
    HttpUrl('Issuer of the tokens. Read from the API server when absent. Required outside a cluster.', {
      maxLength: 2048,
    }),
  ),
  jwksUrl: Type.Optional(
    HttpUrl('URL of the JSON Web Key Set. Defaults to the key set of the API server. Required outside a cluster.', {
      maxLength: 2048,
    }),
  ),
  introspectionUrl: Type.Optional(HttpUrl('Introspection endpoint (RFC 7662).', { maxLength: 2048 })),
  serviceAccount: text(
    'Accept tokens of this service account only: `NAME` or `NAMESPACE:NAME`. A bare name is in `namespace`, or in the namespace of the VirtualMCPServer when that is absent.',
    { minLength: 1, maxLength: 253 },
  ),
  namespace: Type.Optional(DnsLabel('Accept tokens of this namespace only.')),
  allowPrivateIPs: flag(
    'Allow the endpoints to resolve to private addresses. The endpoints of the API server always may.',
  ),
  insecureAllowHTTP: flag('Allow http URLs for the endpoints.'),
  useClusterAuth: flag('Use the CA file and the token of the pod for requests to the API server.', { default: true }),
};

/** Default `aud` of service account tokens. */
export const SERVICE_AUDIENCE = 'vmcp';

export const serviceAccountRules = [safeUrl('', 'issuer'), safeUrl('', 'jwksUrl'), safeUrl('', 'introspectionUrl')];

type ServiceAccount = Static<TObject<typeof serviceAccountFields>>;

/**
 * Resolves service account tokens from `oidcConfig` or MCPOIDCConfig. With `useClusterAuth` the gateway gets keys from the
 * API server, whose address is always allowed; `issuer` is then compared only and nothing is fetched from it.
 */
function resolveServiceAccount(spec: ServiceAccount, scope: SourceScope): ResolvedSource {
  const { issuer, jwksUrl, introspectionUrl, serviceAccount, namespace } = spec;
  const clusterAuth = scope.mode === 'cluster' && spec.useClusterAuth !== false;
  const flags = {
    allowPrivateIPs: spec.allowPrivateIPs === true,
    insecureAllowHTTP: spec.insecureAllowHTTP === true,
  };
  if (scope.mode === 'local' && (issuer === undefined || jwksUrl === undefined)) {
    const message =
      'vmcp does not run in a cluster, so the issuer is unknown: set kubernetes.issuer and kubernetes.jwksUrl';
    scope.problem({ reason: 'ClusterIssuerUnknown', path: '', message });
  }
  if (jwksUrl === undefined && !clusterAuth) scope.checkUrl(issuer, 'issuer', flags);
  if (!clusterAuth || !isApiServer(jwksUrl)) scope.checkUrl(jwksUrl, 'jwksUrl', flags);
  if (introspectionUrl !== undefined) {
    const message = 'service account tokens are JWTs, which are not introspected: remove this field';
    scope.warning({ reason: 'NoEffect', path: 'introspectionUrl', message });
  }
  return {
    incoming: {
      source: 'kubernetes',
      use_cluster_auth: clusterAuth,
      ...(serviceAccount !== undefined && { service_account: serviceAccount }),
      ...(namespace !== undefined && { namespace }),
    },
    oidc: {
      ...(issuer !== undefined && { issuer }),
      ...(jwksUrl !== undefined && { jwksurl: jwksUrl }),
      ...(flags.allowPrivateIPs && { allowPrivateIP: true }),
      ...(flags.insecureAllowHTTP && { insecureAllowHTTP: true }),
    },
  };
}

const isApiServer = (url: string | undefined): boolean =>
  url !== undefined && isApiServerName(URL.parse(url)?.hostname ?? '');

/** Service account tokens of the cluster, issued by the API server. */
export const kubernetes = defineSource({
  type: 'kubernetes',
  description: 'In-cluster service account tokens.',
  spec: Closed(
    {
      ...serviceAccountFields,
      audience: text('Expected `aud` claim.', { default: SERVICE_AUDIENCE, minLength: 1, maxLength: 2048 }),
    },
    { description: 'Optional settings for `type: kubernetes`.' },
  ),
  rules: serviceAccountRules,
  resolve: resolveServiceAccount,
  create: createServiceAccountValidator,
});
