import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { RequestHandler } from 'express';
import type { GatewayConfig } from '../contract/gateway-config.ts';
import { problem, type Problem } from '../contract/problem.ts';
import { route } from '../http/endpoint/router.ts';
import type { Outbound, OutboundOptions } from '../outbound/fetch.ts';
import type { Readiness } from '../incoming/token-validator.ts';
import type { Change } from '../kit/parts.ts';
import type { UpstreamTokens } from '../outgoing/upstream-tokens.ts';
import { DelegateClients } from './clients/delegate-clients.ts';
import { createClientDirectory } from './clients/directory.ts';
import type { EmitEvent } from './events.ts';
import type { AuthServerContext } from './context.ts';
import type { SecretRing } from './core/opaque-token.ts';
import { ENDPOINTS, METADATA_ENDPOINTS } from './endpoints/index.ts';
import { oauthErrors } from './http/oauth-errors.ts';
import { clientAddresses } from '../http/client-address.ts';
import { HmacSecrets } from './keys/secrets.ts';
import { generatedKey, signingKeyFiles } from './keys/generated-keys.ts';
import { SigningKeys } from './keys/signing-keys.ts';
import { openUpstreams, registrationStore, type ObserveUpstream } from './upstream/open-upstreams.ts';
import { providerIdentities, readSettings } from './read-settings.ts';
import { createLoginLiveness, type LivenessCache } from './sessions/liveness.ts';
import { createSessions } from './sessions/sessions.ts';
import type { AuthServerSettings } from './settings.ts';
import { createStore, storeFacts } from './storage/index.ts';
import type { Store } from './storage/store.ts';
import { TrustedIssuers, trusts } from './trust/trusted-issuers.ts';
import type { Logger } from '../contract/logger.ts';

export interface AuthServerDeps {
  /** ms since the epoch. */
  readonly now: () => number;
  /** Returns this number of cryptographically random bytes. */
  readonly random: (bytes: number) => Buffer;
  readonly env: (name: string) => string | undefined;
  /** Creates a guarded HTTP client with its own address policy. */
  readonly outbound: (options: OutboundOptions) => Outbound;
  /** Reads a secret file. Throws an Error that names the file. */
  readonly readSecret: (file: string) => string;
  readonly emit: EmitEvent;
  readonly observeUpstream: ObserveUpstream;
  /** Returns the URL of the page of the virtual server; undefined when only clients know it. */
  readonly pageUrl?: (() => string | undefined) | undefined;
  /** Called when a request to this process has ended a login. Its access tokens are invalid from then on. */
  readonly onLoginEnded: (tsid: string) => void;
  /** Folder in which generated keys and the records of a store in memory outlive the process; without it they end with it. */
  readonly stateDir?: string | undefined;
  readonly log: Logger;
}

type Config = NonNullable<GatewayConfig['embedded_auth_server_config']>;

/** State that survives a change of unrelated settings, so that a new scope or key ends no session. */
interface Foundation {
  readonly store: Store;
  readonly keys: SigningKeys;
  readonly secrets: HmacSecrets;
  /** Secrets that the store seals with, and the configuration. The store keeps this object when they are replaced. */
  readonly inForce: { secrets: HmacSecrets; config: Config };
}

interface Generation {
  readonly config: Config;
  readonly context: AuthServerContext;
  readonly metadata: RequestHandler;
  readonly endpoints: RequestHandler;
}

/** Time for requests that started under the previous configuration, which may wait for a provider. */
const RETIRE_MS = 30_000;
/** Time that a start waits for its store. */
const REACH_MS = 5_000;
const REACH_STEP_MS = 50;

/** Authorization server of one virtual server: its endpoints, and its services for the rest of the gateway. */
export class AuthServer {
  readonly #deps: AuthServerDeps;
  #foundation: Foundation;
  #now: Generation;
  readonly #retiring = new Map<NodeJS.Timeout, () => Promise<void>>();

  /** Rejects with an Error for a configuration that cannot be used. A store or provider that is down does not count. */
  static async open(config: GatewayConfig, deps: AuthServerDeps): Promise<AuthServer> {
    const foundation = await openFoundation(configOf(config), config, deps);
    return new AuthServer(config, foundation, deps);
  }

  private constructor(config: GatewayConfig, foundation: Foundation, deps: AuthServerDeps) {
    this.#deps = deps;
    this.#foundation = foundation;
    this.#now = generationOf(config, foundation, deps);
  }

  /** Prepares another configuration. Rejects as `open` does. */
  async prepare(config: GatewayConfig): Promise<Change> {
    const { config: before, context: old } = this.#now;
    const former = this.#foundation;
    const foundation = await openFoundation(configOf(config), config, this.#deps, { ...former, config: before });
    const closeUnless = async ({ store }: Foundation, other: Foundation): Promise<void> => {
      if (store !== other.store) await store.close();
    };
    const discard = () => closeUnless(foundation, former);
    let next: Generation;
    try {
      next = generationOf(config, foundation, this.#deps);
    } catch (error) {
      await discard();
      throw error;
    }
    return {
      apply: () => {
        this.#now = next;
        this.#foundation = foundation;
        foundation.inForce.secrets = foundation.secrets;
        foundation.inForce.config = configOf(config);
        this.#retire(async () => {
          await closeGeneration(old);
          await closeUnless(former, foundation);
        });
      },
      discard: async () => {
        await closeGeneration(next.context);
        await discard();
      },
    };
  }

  /** Answers requests for public documents under any host name. Passes other requests to the next handler. */
  readonly metadata: RequestHandler = (req, res, next) => {
    this.#now.metadata(req, res, next);
  };

  /** Answers requests for the other endpoints. Passes other requests to the next handler. */
  readonly endpoints: RequestHandler = (req, res, next) => {
    this.#now.endpoints(req, res, next);
  };

  /** Keys that sign the access tokens. */
  readonly keys: Pick<SigningKeys, 'latest' | 'current' | 'renew'> = keySource(() => this.#foundation.keys);

  readonly liveness: LivenessCache & { readonly trusts: (issuer: string) => boolean } = {
    isLive: (login) => this.#now.context.sessions.liveness.isLive(login),
    trusts: (issuer) => trusts(this.#now.context.settings, issuer),
    forget: (tsid) => {
      this.#now.context.sessions.liveness.forget(tsid);
    },
  };

  readonly upstreamTokens: UpstreamTokens = {
    get: (owner, provider, need) => this.#now.context.sessions.upstreamTokens.get(owner, provider, need),
  };

  /** Lists problems that only the running server can find. Paths start at the configuration of the gateway. */
  problems(): readonly Problem[] {
    const { advertised, cutOff } = this.#now.context.clients.documents();
    if (!cutOff) return [];
    const now = advertised ? 'logins of such clients fail' : 'clients are asked to register instead';
    const message = `client metadata documents cannot be fetched, ${now}: allow connections to their hosts, list the documents in cimd.documents, or set cimd.enabled: false`;
    return [problem('ClientDocumentsUnreachable', 'embedded_auth_server_config.cimd', message)];
  }

  /** Reports ready even while a provider is down, because existing logins still work. */
  status(): Readiness {
    const down = [...this.#now.context.upstreams.values()].flatMap((upstream) => {
      const { ready, since } = upstream.status();
      return ready ? [] : [{ name: upstream.name, since }];
    });
    if (down.length === 0) return { ready: true };
    const names = down.map(({ name }) => `"${name}"`).join(', ');
    const times = down.flatMap(({ since }) => since ?? []);
    const since = times.length === 0 ? undefined : new Date(Math.min(...times)).toISOString();
    return {
      ...{ ready: true, reason: 'IdentityProviderUnavailable', message: `logins at ${names} fail: see the log` },
      ...(since !== undefined && { since }),
    };
  }

  /** Returns undefined while the store is down. */
  registeredClients(): Promise<number | undefined> {
    return this.#foundation.store.clients.count().catch(() => undefined);
  }

  async close(): Promise<void> {
    const retired = [...this.#retiring];
    this.#retiring.clear();
    for (const [timer] of retired) clearTimeout(timer);
    await Promise.all(retired.map(([, close]) => close()));
    await closeGeneration(this.#now.context);
    await this.#foundation.store.close();
  }

  #retire(close: () => Promise<void>): void {
    const timer = setTimeout(() => {
      this.#retiring.delete(timer);
      close().catch((error: unknown) => {
        this.#deps.log.warn('closing the resources of a previous configuration failed', { error: String(error) });
      });
    }, RETIRE_MS).unref();
    this.#retiring.set(timer, close);
  }
}

function configOf({ embedded_auth_server_config: config }: GatewayConfig): Config {
  if (!config) throw new Error('embedded_auth_server_config is missing');
  return config;
}

/** Creates the foundation. It reuses each part of `former` with unchanged settings; changed files are followed anyway. */
async function openFoundation(
  config: Config,
  { name, vmcp }: GatewayConfig,
  deps: AuthServerDeps,
  former?: Foundation & { readonly config: Config },
): Promise<Foundation> {
  const { log, now, env, stateDir } = deps;
  const { storage = {} } = config;
  const kept = (member: 'signing_key_config' | 'hmac_secret_files'): Foundation | undefined =>
    isDeepStrictEqual(former?.config[member], config[member]) ? former : undefined;
  const keys = kept('signing_key_config')?.keys ?? new SigningKeys({ files: signingFilesOf(config, deps), log });
  const secrets = kept('hmac_secret_files')?.secrets ?? new HmacSecrets({ files: secretFilesOf(config, deps), log });
  if (storeFacts(storage.type).survivesRestart && (keys.ephemeral || secrets.ephemeral))
    log.warn(
      'the store outlives the generated keys of this process and other processes cannot read its records: configure keys',
    );
  if (former && isDeepStrictEqual(storeOf(former.config), storeOf(config)))
    return { store: former.store, inForce: former.inForce, keys, secrets };
  const inForce = { secrets, config };
  const store = await createStore(storage, {
    now,
    log,
    env,
    secrets: () => inForce.secrets.ring(),
    keyPrefix: `vmcp:auth:{${vmcp.namespace ?? 'default'}:${vmcp.store_name ?? name ?? 'vmcp'}}:`,
    ...(stateDir !== undefined && {
      records: { file: join(stateDir, 'records'), providers: () => providerIdentities(inForce.config) },
    }),
  });
  await waitForStore(store, log);
  return { store, inForce, keys, secrets };
}

const signingFilesOf = ({ signing_key_config: configured }: Config, { stateDir, log }: AuthServerDeps) =>
  configured === undefined && stateDir !== undefined
    ? [generatedKey('signing', stateDir, log)]
    : signingKeyFiles(configured).files;

const secretFilesOf = ({ hmac_secret_files: configured = [] }: Config, { stateDir, log }: AuthServerDeps) =>
  configured.length === 0 && stateDir !== undefined ? [generatedKey('hmac', stateDir, log)] : configured;

/** Returns the settings of the store itself: the limit of clients is read with each registration. */
const storeOf = ({ storage: { max_dcr_clients: _, ...own } = {} }: Config): object => own;

/** Waits for the store, so that the first requests find it. A store that is down does not prevent the start. */
async function waitForStore(store: Store, log: Logger): Promise<void> {
  for (let waited = 0; waited < REACH_MS; waited += REACH_STEP_MS) {
    const fault = await store.health().catch((error: unknown) => error);
    if (fault === undefined) return;
    await sleep(REACH_STEP_MS);
  }
  log.warn('the store does not answer: logins and tokens are refused with 503 until it does');
}

function generationOf(config: GatewayConfig, foundation: Foundation, deps: AuthServerDeps): Generation {
  const settings = readSettings(config);
  const context = contextOf(configOf(config), settings, foundation, deps);
  const { emit, log, pageUrl } = deps;
  const refusals = oauthErrors({ server: new URL(settings.urls.issuer).host, pageUrl, emit, log });
  const routed = (endpoints: typeof ENDPOINTS): RequestHandler =>
    route(
      endpoints.flatMap((endpoint) => endpoint(context)),
      refusals,
    );
  for (const upstream of context.upstreams.values()) upstream.warmUp();
  return {
    config: configOf(config),
    context,
    metadata: routed(METADATA_ENDPOINTS),
    endpoints: routed(ENDPOINTS),
  };
}

function contextOf(
  config: Config,
  settings: AuthServerSettings,
  { store, keys, secrets }: Foundation,
  deps: AuthServerDeps,
): AuthServerContext {
  const { now, random, emit, log, outbound } = deps;
  const { readSecret, env: readEnvironment } = deps;
  const { clients: configured, issuers } = settings.delegation ?? { clients: [], issuers: [] };
  const delegates = new DelegateClients({ clients: configured, readSecret, log });
  const common = { registrations: registrationStore(store), now, log, outbound, readSecret, readEnvironment };
  const upstreams = openUpstreams(config.upstreams ?? [], settings, common, deps.observeUpstream);
  const liveness = createLoginLiveness(store, now, deps.onLoginEnded);
  const addressOf = clientAddresses(settings.trustedProxies);
  const ring = (): SecretRing => secrets.ring();
  return {
    settings,
    store,
    keys,
    secrets: ring,
    clients: createClientDirectory({ settings, store, now, secrets: ring, log, outbound, delegates }),
    sessions: createSessions({ settings, store, upstreams, liveness, now, log, emit }),
    upstreams,
    now,
    random,
    trust: new TrustedIssuers({ issuers, outbound, addressOf, now, log }),
    addressOf,
    emit,
    log,
  };
}

async function closeGeneration({ upstreams, clients, trust }: AuthServerContext): Promise<void> {
  const closings = [...upstreams.values()].map((upstream) => upstream.close());
  await Promise.all([...closings, clients.close(), trust.close()]);
}

const keySource = (keys: () => SigningKeys): Pick<SigningKeys, 'latest' | 'current' | 'renew'> => ({
  get latest() {
    return keys().latest;
  },
  current: () => keys().current(),
  renew: () => keys().renew(),
});
