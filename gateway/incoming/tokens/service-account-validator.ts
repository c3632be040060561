import { clientAddresses } from '../../http/addresses/client-address.ts';
import { isApiServerName } from '../../outbound/address-class.ts';
import { policyFor } from '../../outbound/policy.ts';
import type { ApiServer } from '../../kube/api-server.ts';
import { BearerValidator, type TokenRules } from './bearer-validator.ts';
import { ClusterIssuer, isForbidden, ROLE_MISSING } from './cluster-issuer.ts';
import { discoveredKeys, Discovery } from '../keys/discovery.ts';
import { FetchFailure, jsonGet, type JsonDocument, type JsonGet } from '../keys/json-get.ts';
import { RemoteKeys } from '../keys/remote-keys.ts';
import { serviceAccountRule } from './service-account.ts';
import { configuredBearer, Guards, oidcOf, rulesFor } from './settings.ts';
import type { IncomingConfig, IssuerValidator, ValidatorDeps } from '../token-validator.ts';

interface KnownIssuer {
  readonly known: string | undefined;
  /** Rejects with `DependencyDown`. */
  find(): Promise<string>;
}

/** Validates service account tokens of a cluster: JWTs with a `kid` only. */
export function createServiceAccountValidator(config: IncomingConfig, deps: ValidatorDeps): IssuerValidator {
  const cluster = new Cluster(config, deps);
  const issuer = cluster.issuer();
  const keys = new RemoteKeys({
    ...deps,
    addressOf: clientAddresses(config.vmcp.incoming.trusted_proxies ?? []),
    fetchKeys: cluster.keyFetcher(issuer),
  });
  return new BearerValidator({
    keys,
    rules: rulesOf(config, issuer),
    now: deps.now,
    issuer: () => issuer.known,
    warmUp: () => {
      keys.warmUp();
    },
    status: () => keys.status(),
    close: () => {
      keys.close();
      cluster.close();
    },
  });
}

/** Creates the rules once the issuer is known. */
function rulesOf(config: IncomingConfig, issuer: KnownIssuer): () => TokenRules | Promise<TokenRules> {
  const { incoming, namespace: ownNamespace } = config.vmcp;
  const { service_account: serviceAccount, namespace } = incoming;
  const accept = serviceAccountRule({ serviceAccount, namespace, ownNamespace });
  const make = (name: string) => ({ ...rulesFor(config, name), requireKid: true, accept });
  let rules: TokenRules | undefined;
  return () => {
    if (rules === undefined && issuer.known !== undefined) rules = make(issuer.known);
    return rules ?? issuer.find().then(make);
  };
}

/** Requests of one configuration to its cluster. */
class Cluster {
  readonly #config: IncomingConfig;
  readonly #deps: ValidatorDeps;
  readonly #guards: Guards;
  /** True: use the CA file and the token of the pod. */
  readonly #authenticated: boolean;

  constructor(config: IncomingConfig, deps: ValidatorDeps) {
    this.#config = config;
    this.#deps = deps;
    this.#guards = new Guards(oidcOf(config), deps);
    this.#authenticated = config.vmcp.incoming.use_cluster_auth !== false;
  }

  issuer(): KnownIssuer {
    const { issuer } = oidcOf(this.#config);
    if (issuer !== undefined) return { known: issuer, find: () => Promise.resolve(issuer) };
    const apiServer = this.#apiServer();
    return new ClusterIssuer(apiServer, this.#get(apiServer, 'discovery'), this.#deps.readSecret);
  }

  keyFetcher(issuer: KnownIssuer): () => Promise<JsonDocument> {
    const { jwksurl } = oidcOf(this.#config);
    const ofApiServer = jwksurl === undefined || isApiServerName(URL.parse(jwksurl)?.hostname ?? '');
    if (!this.#authenticated || !ofApiServer) return this.#publicKeys(issuer, jwksurl);
    const apiServer = this.#apiServer();
    const get = this.#get(apiServer, 'keys');
    return () => apiServerKeys(get, jwksurl ?? `${apiServer.url}/openid/v1/jwks`);
  }

  close(): void {
    this.#guards.close();
  }

  #apiServer(): ApiServer {
    const { apiServer } = this.#deps;
    if (apiServer) return apiServer;
    throw new Error('vmcp does not run in a cluster: set oidc_config.issuer, oidc_config.jwksurl and use_cluster_auth');
  }

  /** Returns a fetcher for the API server: its address may be private, and only it gets the token of the pod. */
  #get({ url: apiServerUrl, tokenFile, caFile }: ApiServer, dependency: 'keys' | 'discovery'): JsonGet {
    const policy = { ...policyFor(apiServerUrl, { allowPrivateIPs: true }), allowApiServer: true };
    const outbound = this.#guards.with(policy, this.#authenticated ? caFile : undefined);
    const isOurs = (url: string) => {
      const { origin, hostname } = new URL(url);
      return origin === new URL(apiServerUrl).origin || isApiServerName(hostname);
    };
    const headersFor = (url: string): Readonly<Record<string, string>> =>
      this.#authenticated && isOurs(url) ? { authorization: `Bearer ${this.#deps.readSecret(tokenFile)}` } : {};
    return jsonGet({ outbound, headersFor, dependency });
  }

  #publicKeys(issuer: KnownIssuer, jwksurl: string | undefined): () => Promise<JsonDocument> {
    const { readSecret, now } = this.#deps;
    const headersFor = configuredBearer(oidcOf(this.#config), readSecret);
    const getFrom = (url: string, dependency: 'keys' | 'discovery') =>
      jsonGet({ outbound: this.#guards.for(url), headersFor, dependency });
    if (jwksurl !== undefined) {
      const get = getFrom(jwksurl, 'keys');
      return () => get(jwksurl);
    }
    let discovery: Discovery | undefined;
    return async () => {
      const name = await issuer.find();
      discovery ??= new Discovery(name, getFrom(name, 'discovery'), now);
      return discoveredKeys(discovery, getFrom(name, 'keys'));
    };
  }
}

async function apiServerKeys(get: JsonGet, url: string): Promise<JsonDocument> {
  try {
    return await get(url);
  } catch (error) {
    if (!(error instanceof FetchFailure) || !isForbidden(error)) throw error;
    throw new FetchFailure('ServiceAccountIssuerDiscoveryForbidden', ROLE_MISSING, { status: error.status });
  }
}
