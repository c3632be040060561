import { clientAddresses } from '../../http/client-address.ts';
import { ClientAssertion } from '../../private-keys/client-assertion.ts';
import { durationMs } from '../../contract/fields.ts';
import { BearerValidator, type TokenRules } from './bearer-validator.ts';
import { discoveredKeys, IssuerDiscovery } from '../keys/discovery.ts';
import { Introspection, type IntrospectionOptions } from './introspection.ts';
import { jsonGet } from '../keys/json-get.ts';
import { RemoteKeys } from '../keys/remote-keys.ts';
import { configuredBearer, IssuerGuards, oidcOf, rulesFor } from './settings.ts';
import type { IncomingConfig, IssuerValidator, ValidatorDeps } from '../token-validator.ts';

/** Validates tokens of an external issuer: JWTs with its key set, opaque tokens by introspection when a client secret or key is set. */
export function createIssuerValidator(config: IncomingConfig, deps: ValidatorDeps): IssuerValidator {
  const oidc = oidcOf(config);
  const { issuer, jwksurl } = oidc;
  if (!issuer) throw new Error('oidc_config.issuer is missing');
  const rules = rulesFor(config, issuer);
  const guards = new IssuerGuards(oidc, deps);
  const headersFor = configuredBearer(oidc, deps.readSecret);
  const getMetadata = jsonGet({ outbound: guards.for(issuer), headersFor, dependency: 'discovery' });
  const getKeys = jsonGet({ outbound: guards.for(jwksurl ?? issuer), headersFor, dependency: 'keys' });
  const discovery = new IssuerDiscovery(issuer, getMetadata, deps.now);
  const keys = new RemoteKeys({
    ...deps,
    addressOf: clientAddresses(config.vmcp.incoming.trusted_proxies ?? []),
    fetchKeys: () => (jwksurl === undefined ? discoveredKeys(discovery, getKeys) : getKeys(jwksurl)),
  });
  return new BearerValidator({
    keys,
    rules: () => rules,
    introspection: introspectionOf(config, deps, { rules, guards, discovery }),
    introspectsAll: config.vmcp.incoming.introspection?.tokens === 'all',
    now: deps.now,
    issuer: () => issuer,
    warmUp: () => {
      keys.warmUp();
    },
    status: () => keys.status(),
    close: () => {
      keys.close();
      guards.close();
    },
  });
}

interface Parts {
  readonly rules: TokenRules;
  readonly guards: IssuerGuards;
  readonly discovery: IssuerDiscovery;
}

function introspectionOf(
  config: IncomingConfig,
  deps: ValidatorDeps,
  { rules, guards, discovery }: Parts,
): Introspection | undefined {
  const { clientID: clientId, clientSecretFile, private_key_jwt: key, introspectionURL: endpoint } = oidcOf(config);
  if (clientSecretFile === undefined && !key) return undefined;
  if (!clientId) throw new Error('oidc_config has a credential of a client, but oidc_config.clientID is not set');
  const outbound = guards.for(endpoint ?? rules.issuer);
  const settings = introspectionSettings(config.vmcp.incoming, rules);
  const assertion = key && new ClientAssertion(key, deps);
  const client = { clientId, clientSecretFile, assertion };
  return new Introspection({ ...deps, ...settings, ...client, endpoint, discovery, outbound });
}

const CACHE_TTL = '60s';

function introspectionSettings(
  { introspection = {} }: IncomingConfig['vmcp']['incoming'],
  rules: TokenRules,
): Pick<IntrospectionOptions, 'rules' | 'cacheMs'> {
  const {
    cache_ttl: cacheTtl = CACHE_TTL,
    allow_missing_audience: audienceMayBeMissing,
    subject_claim,
  } = introspection;
  return { cacheMs: durationMs(cacheTtl), rules: { ...rules, audienceMayBeMissing, subjectClaim: subject_claim } };
}
