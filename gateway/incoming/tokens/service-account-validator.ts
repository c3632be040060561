import { clientAddresses } from '../../http/client-address.ts';
import { isApiServerName } from '../../outbound/address-class.ts';
import { policyFor } from '../../outbound/policy.ts';
import type { ApiServer } from '../../kube/api-server.ts';
import { BearerValidator, type TokenRules } from './bearer-validator.ts';
import { discoveredKeys, IssuerDiscovery } from '../keys/discovery.ts';
import { FetchFailure, jsonGet, type JsonDocument, type JsonGet } from '../keys/json-get.ts';
import { RemoteKeys } from '../keys/remote-keys.ts';
import { configuredBearer, IssuerGuards, oidcOf, rulesFor } from './settings.ts';
import type { IncomingConfig, IssuerValidator, ValidatorDeps } from '../token-validator.ts';
import { DependencyDown, TokenRefused } from '../refusal.ts';
import { isObject, type JsonObject } from '../../contract/json.ts';
import { decodeObject } from './classify.ts';
import { SingleFlight } from '../../kit/tasks.ts';

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
  readonly #guards: IssuerGuards;
  /** True: use the CA file and the token of the pod. */
  readonly #authenticated: boolean;

  constructor(config: IncomingConfig, deps: ValidatorDeps) {
    this.#config = config;
    this.#deps = deps;
    this.#guards = new IssuerGuards(oidcOf(config), deps);
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
    let discovery: IssuerDiscovery | undefined;
    return async () => {
      const name = await issuer.find();
      discovery ??= new IssuerDiscovery(name, getFrom(name, 'discovery'), now);
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

/** Service accounts whose tokens are accepted; undefined means all. */
interface ServiceAccountLimits {
  /** `NAME`, `NAMESPACE:NAME`, `NAMESPACE/NAME` or the whole subject. */
  readonly serviceAccount: string | undefined;
  readonly namespace: string | undefined;
  /** Namespace of the virtual server: applies to a bare `NAME` when `namespace` is absent. */
  readonly ownNamespace: string | undefined;
}

const SUBJECT = /^system:serviceaccount:([^:]+):([^:]+)$/;

/** Rejects tokens of other accounts, and tokens whose claims contradict each other. */
const serviceAccountRule =
  ({ serviceAccount, namespace, ownNamespace }: ServiceAccountLimits) =>
  (claims: JsonObject): void => {
    const subject = String(claims['sub']);
    const [, space, name] = SUBJECT.exec(subject) ?? [];
    if (space === undefined || name === undefined) throw new TokenRefused('service_account');
    // A bare name matches in one namespace only.
    const bare = space === (namespace ?? ownNamespace) ? [name] : [];
    const spellings = [...bare, `${space}:${name}`, `${space}/${name}`, subject];
    if (serviceAccount !== undefined && !spellings.includes(serviceAccount)) throw new TokenRefused('service_account');
    if (namespace !== undefined && namespace !== space) throw new TokenRefused('service_account');
    if (!agrees(claims['kubernetes.io'], space, name)) throw new TokenRefused('service_account');
  };

/** Returns true when the claim is absent: other issuers use the same form of subject without it. */
function agrees(bound: unknown, namespace: string, name: string): boolean {
  if (bound === undefined) return true;
  if (!isObject(bound)) return false;
  const { namespace: space, serviceaccount: account } = bound;
  const accountName = isObject(account) ? account['name'] : undefined;
  return (space === undefined || space === namespace) && (accountName === undefined || accountName === name);
}

/** Permission that an API server requires for its issuer and its keys. */
const ROLE_MISSING =
  'the API server does not show us its issuer and its keys: bind the ClusterRole system:service-account-issuer-discovery to the service account of this pod';

const isForbidden = ({ status }: FetchFailure): boolean => status === 401 || status === 403;

/** Default issuer of clusters. */
const USUAL_ISSUER = 'https://kubernetes.default.svc';

/**
 * Finds the issuer of a cluster's service account tokens once: `iss` of the pod's own token (the kubelet wrote it, so it needs no
 * verification), else the issuer in the API server's metadata, else the default.
 */
class ClusterIssuer {
  readonly #apiServer: ApiServer;
  readonly #get: JsonGet;
  readonly #readSecret: (file: string) => string;
  #found: string | undefined;
  readonly #flight = new SingleFlight<string>();

  constructor(apiServer: ApiServer, get: JsonGet, readSecret: (file: string) => string) {
    this.#apiServer = apiServer;
    this.#get = get;
    this.#readSecret = readSecret;
  }

  get known(): string | undefined {
    this.#found ??= this.#ofOwnToken();
    return this.#found;
  }

  /** Rejects with `DependencyDown`. */
  async find(): Promise<string> {
    if (this.known !== undefined) return this.known;
    this.#found = await this.#flight.run(() => this.#ofApiServer());
    return this.#found;
  }

  #ofOwnToken(): string | undefined {
    try {
      const [, payload = ''] = this.#readSecret(this.#apiServer.tokenFile).split('.');
      return textOf(decodeObject(payload)?.['iss']);
    } catch {
      return undefined; // no token is mounted: use the API server
    }
  }

  async #ofApiServer(): Promise<string> {
    try {
      const { document } = await this.#get(`${this.#apiServer.url}/.well-known/openid-configuration`);
      return textOf((document as JsonObject | null)?.['issuer']) ?? USUAL_ISSUER;
    } catch (error) {
      if (!(error instanceof FetchFailure)) throw error;
      if (error.status === 404) return USUAL_ISSUER; // it has no issuer metadata
      throw new DependencyDown('discovery', isForbidden(error) ? ROLE_MISSING : error.message);
    }
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
