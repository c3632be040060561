import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'winston';
import { durationMs } from '../contract/fields.ts';
import type { Backend, GatewayConfig, Operational } from '../contract/gateway-config.ts';
import type { Span } from '../http/json-scan.ts';
import type { CallObserver } from '../telemetry/call-metrics.ts';
import { forwardParams } from './aggregation/forward-params.ts';
import type { Route } from './aggregation/view.ts';
import { BackendCall, type OnFailure } from './backends/backend-call.ts';
import { Fleet } from './backends/fleet.ts';
import { announce, digestsOf } from './announce.ts';
import type { Answer } from './edge/answer.ts';
import type { ClientRequest } from './client-request.ts';
import { LiveView } from './live-view.ts';
import { relay } from './relay.ts';
import { Sessions, type ClientFacts, type Session } from './session.ts';
import type { Transport } from './transport/channel.ts';

export interface VirtualServerDeps {
  readonly log: Logger;
  readonly now: () => number;
  readonly random: () => number;
  readonly newId: () => string;
  readonly createTransport: (backend: Backend, operational: Operational) => Transport;
  readonly metrics: CallObserver;
}

const SESSION_LIMIT = 20_000;
const SESSION_TTL = '30m';
const SWEEP_EVERY_MS = 30_000;
const CHANNEL_IDLE_MS = 600_000;

/** One VirtualMCPServer while it runs: its backends, the view of them that clients get, and the clients' sessions. */
export class VirtualServer {
  readonly sessions: Sessions;
  readonly fleet: Fleet;
  readonly view: LiveView;
  readonly log: Logger;
  #config: GatewayConfig;
  #passthrough: readonly string[];
  #draining = false;
  readonly #now: () => number;
  readonly #sweeper: NodeJS.Timeout;

  constructor(config: GatewayConfig, deps: VirtualServerDeps) {
    this.#config = config;
    this.#passthrough = (config.vmcp.passthrough_headers ?? []).map((name) => name.toLowerCase());
    this.log = deps.log;
    this.#now = deps.now;
    this.sessions = new Sessions({
      ttlMs: durationMs(config.vmcp.session_ttl ?? SESSION_TTL),
      limit: SESSION_LIMIT,
      now: deps.now,
      newId: deps.newId,
      onEnd: (session) => {
        this.#release(session);
      },
    });
    this.fleet = new Fleet({
      ...deps,
      onMessage: relay,
      onChange: () => {
        this.view.invalidate();
      },
    });
    this.view = new LiveView(config, {
      fleet: this.fleet,
      log: deps.log,
      onChange: (view) => {
        const digests = digestsOf(view);
        for (const session of this.sessions.all()) announce(session, digests);
      },
    });
    this.fleet.replace(config.vmcp.backends, config.vmcp.operational);
    this.#sweeper = setInterval(
      () => {
        this.sessions.sweep();
        this.#closeIdleChannels(deps.now() - CHANNEL_IDLE_MS);
      },
      Math.min(SWEEP_EVERY_MS, this.sessions.ttlMs / 2),
    );
    this.#sweeper.unref();
  }

  get name(): string {
    return this.#config.name ?? '';
  }

  get config(): GatewayConfig {
    return this.#config;
  }

  get failsOnPartial(): boolean {
    return this.#config.vmcp.operational.failure_handling.partial_failure_mode === 'fail';
  }

  /** Names of the client headers that are copied to backends, in lower case. */
  get passthroughHeaders(): readonly string[] {
    return this.#passthrough;
  }

  get draining(): boolean {
    return this.#draining;
  }

  completes(backend: string): boolean {
    return this.fleet.catalog(backend)?.capabilities['completions'] !== undefined;
  }

  offersSubscriptions(backend: string): boolean {
    const resources = this.fleet.catalog(backend)?.capabilities['resources'];
    return (
      typeof resources === 'object' && resources !== null && 'subscribe' in resources && resources.subscribe === true
    );
  }

  /**
   * Whether another session gets the updates of `uri` through the same process or session-less connection, so that the
   * backend must not be told that nobody wants them any more.
   */
  sharesSubscription(session: Session, backend: string, uri: string): boolean {
    const { transport, isolation = 'principal' } = this.fleet.runtime(backend)?.config ?? {};
    if (transport !== 'stdio' || isolation === 'session') return false;
    for (const other of this.sessions.all()) {
      if (
        other !== session &&
        other.subscriptions.get(uri) === backend &&
        (isolation === 'shared' || other.principal === session.principal)
      )
        return true;
    }
    return false;
  }

  openSession(principal: string, client: ClientFacts): Session {
    const session = this.sessions.create(principal, client);
    session.seen = digestsOf(this.view.current);
    return session;
  }

  /** The client listens now: it hears what it missed, and backends that are open for it may speak. */
  listen(session: Session): void {
    announce(session, digestsOf(this.view.current));
    for (const { channel } of session.channels.values()) channel?.listen();
  }

  setLogLevel(session: Session, level: number): void {
    session.logLevel = level;
    for (const [name, { channel }] of session.channels) {
      if (channel?.alive) this.fleet.runtime(name)?.sendLogLevel(session, channel);
    }
  }

  /** Sends a notification of the client to every backend that is open for it. */
  tellBackends(session: Session, message: Buffer): void {
    for (const { channel } of session.channels.values()) if (channel?.alive) channel.send(message);
  }

  /** Sends a client's request to the backend of `route`; `name` is the span to rename when the route is renamed. */
  forward(
    session: Session,
    request: ClientRequest,
    route: Route,
    name: Span | undefined,
    answer: Answer,
    onFailure: OnFailure,
  ): void {
    const { body, envelope } = request;
    const backend = this.fleet.runtime(route.backend);
    const { params } = envelope;
    if (params === undefined || envelope.method === undefined) throw new Error('routed without params');
    if (!backend) {
      // a list that is kept because of a conflict may still name a backend that is gone
      onFailure(answer, { kind: 'unavailable', detail: 'removed' }, { name: route.backend, timeoutMs: 0 });
      return;
    }
    const bytes = name ? forwardParams(body, params, name, route) : body.subarray(params.start, params.end);
    const { method } = envelope;
    new BackendCall(
      backend,
      session,
      { method, params: bytes, id: answer.id, timeoutMs: backend.timeoutMs, headers: request.headers },
      answer,
      onFailure,
    ).start();
  }

  /** Takes another configuration; sessions live on, backends whose configuration is the same too. */
  swap(config: GatewayConfig): void {
    const before = this.#config;
    this.#config = config;
    this.#passthrough = (config.vmcp.passthrough_headers ?? []).map((name) => name.toLowerCase());
    const keep = isDeepStrictEqual(before.vmcp.operational, config.vmcp.operational);
    this.sessions.ttlMs = durationMs(config.vmcp.session_ttl ?? SESSION_TTL);
    for (const gone of this.fleet.replace(config.vmcp.backends, config.vmcp.operational, keep)) {
      this.fleet.retire(gone);
      for (const { channels } of this.sessions.all()) {
        const held = channels.get(gone.name);
        if (!held || !channels.delete(gone.name)) continue;
        if (held.channel) gone.discard(held.channel);
      }
    }
    this.view.swap(config);
  }

  /** No new sessions; resolves when no call runs any more or after `graceMs`. */
  async drain(graceMs: number): Promise<void> {
    this.#draining = true;
    const end = this.#now() + graceMs;
    while (this.#runningCalls() > 0 && this.#now() < end) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper);
    for (const session of [...this.sessions.all()]) this.sessions.end(session);
    await this.fleet.close();
  }

  #runningCalls(): number {
    let running = 0;
    for (const session of this.sessions.all()) running += session.running.size;
    return running;
  }

  #release(session: Session): void {
    for (const call of session.running) call.cancel('the session ended');
    for (const name of [...session.channels.keys()]) closeChannel(session, name);
    session.streams.end();
  }

  #closeIdleChannels(before: number): void {
    for (const session of this.sessions.all()) {
      if (session.running.size > 0) continue;
      const subscribed = new Set(session.subscriptions.values());
      for (const [name, { lastUsedAt }] of session.channels)
        if (lastUsedAt < before && !subscribed.has(name)) closeChannel(session, name);
    }
  }
}

function closeChannel(session: Session, backend: string): void {
  const held = session.channels.get(backend);
  if (!held) return;
  session.channels.delete(backend);
  void held.channel?.close();
}
