import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'winston';
import { durationMs } from '../contract/fields.ts';
import type { Backend, GatewayConfig, Operational } from '../contract/gateway-config.ts';
import type { Span } from '../http/json-scan.ts';
import type { CallObserver } from '../telemetry/call-metrics.ts';
import { aggregate } from './aggregation/aggregate.ts';
import { forwardParams } from './aggregation/forward-params.ts';
import type { AggregationResult, Route, View } from './aggregation/view.ts';
import { BackendCall, type OnFailure } from './backends/backend-call.ts';
import { Fleet } from './backends/fleet.ts';
import { LONGEST_TIMER_MS } from './health/clock.ts';
import { announce, digestsOf } from './announce.ts';
import type { Answer } from './edge/answer.ts';
import type { ClientRequest } from './client-request.ts';
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
  readonly log: Logger;
  #config: GatewayConfig;
  #aggregation: AggregationResult;
  #problems: readonly { reason: string; message: string }[] = [];
  #passthrough: readonly string[];
  #rebuildQueued = false;
  /** The configuration was changed under way, and its view has had conflicts since: the one before goes on. */
  #swapped = false;
  readonly #changed: (() => void)[] = [];
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
        this.#queueRebuild();
      },
    });
    this.#aggregation = aggregate(
      [],
      config.vmcp.aggregation,
      config.vmcp.backends.map(({ name }) => name),
    );
    this.fleet.replace(config.vmcp.backends, config.vmcp.operational);
    this.#sweeper = setInterval(() => {
      this.sessions.sweep();
      this.#closeIdleChannels(deps.now() - CHANNEL_IDLE_MS);
    }, SWEEP_EVERY_MS);
    this.#sweeper.unref();
  }

  get name(): string {
    return this.#config.name ?? '';
  }

  get config(): GatewayConfig {
    return this.#config;
  }

  /** Always that of what the backends have said so far. */
  get view(): View {
    if (this.#rebuildQueued) this.#rebuildNow();
    return this.#aggregation.view;
  }

  /** Conflicts and warnings of the last aggregation. */
  get problems(): readonly { reason: string; message: string }[] {
    return this.#problems;
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

  /** Every backend was asked at least once, so what the view lacks does not exist or is down. */
  get settled(): boolean {
    return this.fleet.settled;
  }

  /** Resolves when `settled`, and after the default timeout anyway. */
  async whenSettled(): Promise<void> {
    const limitMs = durationMs(this.#config.vmcp.operational.timeouts.default);
    await this.fleet.whenSettled(Math.min(limitMs, LONGEST_TIMER_MS));
  }

  /** A name that is in the view leads where it will always lead: with prefixes no other backend can claim it. */
  get certain(): boolean {
    return this.settled || this.#config.vmcp.aggregation.conflict_resolution === 'prefix';
  }

  /** What `find` finds as soon as that is certain; undefined when it is not there once everything is known. */
  async whenFound<T>(find: (view: View) => T | undefined): Promise<T | undefined> {
    const waiting = { isOver: false };
    const over = this.whenSettled().then(() => {
      waiting.isOver = true;
    });
    for (;;) {
      const found = this.certain ? find(this.view) : undefined;
      if (found !== undefined || waiting.isOver) return found ?? find(this.view);
      await Promise.race([over, new Promise<void>((wake) => this.#changed.push(wake))]);
    }
  }

  ready(): Promise<void> {
    return this.settled ? Promise.resolve() : this.whenSettled();
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
    session.seen = digestsOf(this.view);
    return session;
  }

  /** The client listens now: it hears what it missed, and backends that are open for it may speak. */
  listen(session: Session): void {
    announce(session, digestsOf(this.view));
    for (const { channel } of session.channels.values()) channel?.listen();
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
    this.#swapped = true;
    this.#queueRebuild();
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

  #queueRebuild(): void {
    if (this.#rebuildQueued) return;
    this.#rebuildQueued = true;
    setImmediate(() => {
      this.#rebuildNow();
    });
  }

  #rebuildNow(): void {
    if (!this.#rebuildQueued) return;
    this.#rebuildQueued = false;
    const next = aggregate(this.fleet.catalogs(), this.#config.vmcp.aggregation, this.fleet.unavailable());
    const problems = [...next.conflicts, ...next.warnings];
    if (!isDeepStrictEqual(problems, this.#problems)) {
      for (const { reason, message } of problems) this.log.warn('aggregation', { reason, problem: message });
    }
    this.#problems = problems;
    const before = this.#aggregation;
    const keepsLast = this.#swapped && next.conflicts.length > 0 && before.conflicts.length === 0;
    if (next.conflicts.length === 0) this.#swapped = false;
    if (keepsLast) return;
    this.#aggregation = next;
    this.#changed.splice(0).forEach((wake) => {
      wake();
    });
    const digests = digestsOf(next.view);
    for (const session of this.sessions.all()) announce(session, digests);
  }
}

function closeChannel(session: Session, backend: string): void {
  const held = session.channels.get(backend);
  if (!held) return;
  session.channels.delete(backend);
  void held.channel?.close();
}
