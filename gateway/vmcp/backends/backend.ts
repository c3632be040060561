import { durationMs } from '../../contract/fields.ts';
import type { Backend, Operational } from '../../contract/gateway-config.ts';
import { CredentialError, type Authenticator, type CredentialHeaders } from '../../outgoing/authenticator.ts';
import { CredentialFailures, type CredentialProblem } from '../../outgoing/credential-failures.ts';
import type { CallObserver, Peer } from '../../telemetry/call-observer.ts';
import type { Envelope } from '../../http/json-scan.ts';
import { OWN_CAPABILITIES } from '../aggregation/extensions.ts';
import { CallGate } from '../budgets/call-gate.ts';
import { CALL_LIMITS, TASK_STREAM_LIMITS } from '../budgets/limits.ts';
import { StreamPlaces } from '../budgets/stream-places.ts';
import { isSessionless, LATEST_REVISION } from '../../contract/protocol/revisions.ts';
import { createCircuit, type Circuit } from '../health/circuit.ts';
import { initTimeoutMs, replyTimeoutMs } from '../timeouts.ts';
import { LOG_LEVELS } from '../log-level.ts';
import { answerUnroutable, type BackendMessage } from '../relay.ts';
import { receivesMessages, type Session, type SessionChannel } from '../session.ts';
import { Credentials } from './credentials.ts';
import {
  BackendError,
  DISCOVERY,
  type BackendFailure,
  type BackendSession,
  type Channel,
  type ChannelOwner,
  type Transport,
} from '../transport/channel.ts';
import { failureOfError } from '../transport/failure.ts';
import { KeyValueStoreUnavailable } from '../../kvstore/key-value-store.ts';
import type { BackendSessions } from './backend-sessions.ts';
import { RepairedReplies } from './repaired-replies.ts';
import { MeasuredChannel } from '../transport/measured-channel.ts';
import { ask } from '../transport/request-reply.ts';
import type { Logger } from '../../contract/logger.ts';
import type { Restart, StartPhase } from '../../workloads/runner/runner.ts';
import { SingleFlight } from '../../kit/tasks.ts';
import { limited } from '../../kit/time.ts';

export interface BackendRuntimeOptions {
  readonly config: Backend;
  readonly operational: Operational;
  readonly transport: Transport;
  /** Source of the credential; undefined: the backend gets none. */
  readonly authenticator: Authenticator | undefined;
  readonly metrics: CallObserver;
  readonly log: Logger;
  readonly now: () => number;
  /** Called when a call found the backend unavailable. */
  readonly onUnavailable: () => void;
  /** Called for a message to one client, during a call or outside of calls. */
  readonly onMessage: (message: BackendMessage) => void;
  /** Sessions that replicas share; undefined while this process keeps its own. */
  readonly backendSessions: () => BackendSessions | undefined;
  /** Called when the backend announces that one of its lists changed: for one principal, or for all. */
  readonly onListChanged: (principal: string | undefined) => void;
}

const NO_FACTS = { hasSession: false, revision: undefined };

const UNUSABLE: CredentialProblem = { reason: 'CredentialMisconfigured', message: 'see the log for the reason' };

/** Most messages that wait for a channel to open: a backend may send requests (`roots/list`) during the handshake. */
const MAX_EARLY_MESSAGES = 100;

/** One backend of a virtual server at run time: channels, circuit and timeouts. */
export class BackendRuntime {
  readonly name: string;
  readonly config: Backend;
  readonly circuit: Circuit;
  readonly gate = new CallGate(CALL_LIMITS);
  readonly taskStreams = new StreamPlaces(TASK_STREAM_LIMITS);
  readonly credentials: Credentials;
  readonly replies: RepairedReplies;
  /** True when the last call failed because a header that a file holds, or the credential, is misconfigured. */
  #misconfigured = false;
  readonly now: () => number;
  readonly metrics: CallObserver;
  readonly peer: Peer;
  /** Longest wait for a reply, ms. */
  readonly timeoutMs: number;
  readonly #initTimeoutMs: number;
  readonly #options: BackendRuntimeOptions;
  /** The gateway's own channel for probes and lists. All clients use it when the backend keeps no sessions. */
  #own: Channel | undefined;
  readonly #ownOpening = new SingleFlight<Channel>();
  #lowestLogLevel: number = LOG_LEVELS.length - 1;
  readonly #closed = new AbortController();
  #running = 0;
  #retiring = false;
  readonly #drained = Promise.withResolvers<undefined>();
  readonly #discarded = new Set<Promise<void>>();

  constructor(options: BackendRuntimeOptions) {
    const { config, operational } = options;
    const { failure_handling: failures } = operational;
    this.#options = options;
    this.config = config;
    const { log, now } = options;
    this.credentials = new Credentials(
      options.authenticator,
      new CredentialFailures({ backend: config.name, log, now }),
    );
    this.name = config.name;
    this.replies = new RepairedReplies(config.name, options.log);
    this.now = options.now;
    this.metrics = options.metrics;
    this.peer = peerOf(config);
    this.timeoutMs = replyTimeoutMs(operational, config.name);
    this.#initTimeoutMs = initTimeoutMs(operational, config.name);
    this.circuit = createCircuit(
      {
        enabled: failures.circuit_breaker.enabled,
        failureThreshold: failures.circuit_breaker.failure_threshold,
        timeoutMs: durationMs(failures.circuit_breaker.timeout),
        isolated: config.transport === 'stdio' && config.isolation !== 'shared',
      },
      options.now,
    );
  }

  /**
   * Runs an operation of the gateway for a session, with the session's credential. Retries once when the backend
   * rejects the credential or has lost the session. Rejects with `BackendError` or `CredentialError`.
   */
  async runFor<T>(
    session: Session,
    act: (channel: Channel, credential: CredentialHeaders | undefined) => Promise<T>,
    retries = 1,
  ): Promise<T> {
    const credential = await this.credentials.of(session.identity);
    try {
      return await act(await this.channelOf(session), credential);
    } catch (error) {
      const failure = this.failureOf(error);
      const helps = this.credentials.isRefusal(failure)
        ? this.credentials.refused(session.identity, credential)
        : failure.kind === 'session_lost';
      if (retries > 0 && helps) return await this.runFor(session, act, retries - 1);
      const reported = this.credentials.asReported(failure);
      throw reported === failure ? error : new BackendError(reported);
    }
  }

  /** Returns the gateway's own channel, and opens it when necessary. */
  own(): Promise<Channel> {
    if (this.#own?.alive) return Promise.resolve(this.#own);
    return this.#ownOpening.run(async () => (this.#own = await this.#open(undefined)));
  }

  /** Returns the step of the backend's process while it was never ready. */
  get startPhase(): StartPhase | undefined {
    return this.#options.transport.phase?.();
  }

  /** Returns the restart of the backend's process, until it has run for some time again. */
  get restart(): Restart | undefined {
    return this.#options.transport.restart?.();
  }

  /** Problem of the credential or of a header that a file holds. */
  get credentialProblem(): CredentialProblem | undefined {
    const { problem } = this.credentials;
    return problem ?? (this.#misconfigured ? UNUSABLE : undefined);
  }

  dropOwn(): void {
    void this.#own?.close();
    this.#own = undefined;
  }

  /** Returns the channel for calls of this session, at once when it is open. */
  channelOf(session: Session): Channel | Promise<Channel> {
    // the successor owns the session's channel of this name
    if (this.#retiring) return Promise.reject(new BackendError({ kind: 'unavailable', detail: 'replaced' }));
    const held = session.channels.get(this.name);
    if (held?.channel?.alive) {
      held.lastUsedAt = this.now();
      return held.channel;
    }
    if (held?.channel instanceof MeasuredChannel) held.channel.lost();
    const own = this.#own;
    const { hasSession, revision } = own?.facts ?? NO_FACTS;
    if (own?.alive && !hasSession && !isSessionless(revision) && !this.credentials.perUser) return own;
    if (held?.opening) return held.opening;
    const entry: SessionChannel = { channel: undefined, opening: undefined, lastUsedAt: this.now() };
    session.channels.set(this.name, entry);
    const isHeld = (): boolean => session.channels.get(this.name) === entry;
    entry.opening = this.#openFor(session, held?.channel?.session).then(
      (channel) => {
        entry.channel = channel;
        entry.opening = undefined;
        if (session.ended || !isHeld()) this.discard(channel, session.shared !== undefined);
        else {
          if (session.logLevel >= 0) this.sendLogLevel(session, channel);
          this.#subscribeAgain(session, channel);
        }
        return channel;
      },
      (error: unknown) => {
        if (isHeld()) session.channels.delete(this.name);
        throw error;
      },
    );
    return entry.opening;
  }

  /** Counts an admitted call until `settled`. */
  started(): void {
    this.#running += 1;
  }

  /** Ends a session at the backend that other replicas have used. Never throws. */
  async endSession(session: Session, resume: BackendSession): Promise<void> {
    if (resume.url !== this.#url) return;
    const channel = await this.#open(session, resume).catch(() => undefined);
    await channel?.close();
  }

  /**
   * Closes a channel that its session no longer uses. While this backend is being replaced, waits for running calls
   * first. With `released` the session at the backend goes on at other replicas.
   */
  discard(channel: Channel, released = false): void {
    const closed = (this.#retiring ? this.#drained.promise : Promise.resolve())
      .then(() => (released && channel.session && channel.release ? channel.release() : channel.close()))
      .finally(() => this.#discarded.delete(closed));
    this.#discarded.add(closed);
  }

  /** Stops taking calls and closes when the running calls have ended, after `graceMs` at the latest. */
  async retire(graceMs: number): Promise<void> {
    this.#retiring = true;
    const timer = setTimeout(this.#drained.resolve, graceMs, undefined).unref();
    if (this.#running === 0) this.#drained.resolve(undefined);
    await this.#drained.promise;
    clearTimeout(timer);
    await this.close();
  }

  failureOf(error: unknown): BackendFailure {
    if (error instanceof BackendError || error instanceof CredentialError || error instanceof KeyValueStoreUnavailable)
      return failureOfError(error);
    this.#options.log.error('unexpected error at a backend', { backend: this.name, error: String(error) });
    return { kind: 'unavailable', detail: String(error) };
  }

  /** Records the end of a call of `principal`. */
  settled(outcome: BackendFailure['kind'] | 'ok', principal: string, detail?: string): void {
    this.#running -= 1;
    if (this.#retiring && this.#running === 0) this.#drained.resolve(undefined);
    this.circuit.settled(outcome, principal);
    if (outcome === 'ok' || outcome === 'misconfigured') this.#misconfigured = outcome === 'misconfigured';
    if (outcome === 'ok' || outcome === 'cancelled' || outcome === 'overloaded') return;
    this.#options.log.warn('backend call failed', { backend: this.name, reason: outcome, detail });
    if (outcome === 'unavailable' || outcome === 'timeout') this.#options.onUnavailable();
  }

  /** Relays a message to one client. A change of a list concerns every client. */
  onMessage(from: BackendMessage): void {
    if (from.envelope.method?.endsWith('/list_changed')) this.#listChanged(from.session);
    else this.#options.onMessage(from);
  }

  async close(): Promise<void> {
    this.#closed.abort();
    this.#drained.resolve(undefined);
    await Promise.all([this.#own?.close(), ...this.#discarded]);
    await this.#options.transport.close();
  }

  /**
   * Sends the session's log level to the backend. A shared process gets the lowest level of all sessions; messages
   * below a session's own level are then filtered on the way to it.
   */
  sendLogLevel(session: Session, channel: Channel): void {
    if (channel.facts.capabilities['logging'] === undefined) return;
    const { transport, isolation } = this.config;
    const isShared = transport === 'stdio' && isolation !== 'session';
    const index = isShared ? Math.min(this.#lowestLogLevel, session.logLevel) : session.logLevel;
    this.#lowestLogLevel = Math.min(this.#lowestLogLevel, index);
    this.#notify(session, channel, 'logging/setLevel', { level: LOG_LEVELS[index] }, 'log level not taken');
  }

  /** Subscribes again on a new channel: the backend does not know the subscriptions of the previous channel. */
  #subscribeAgain(session: Session, channel: Channel): void {
    for (const uri of session.subscriptions.acceptedBy(this.name))
      this.#notify(session, channel, 'resources/subscribe', { uri }, 'subscription lost');
  }

  /** Sends a request of the gateway whose result is not used. `lost` is the log message for a failure. */
  #notify(session: Session, channel: Channel, method: string, params: object, lost: string): void {
    const onLost = (error: unknown): void => {
      this.#options.log.debug(lost, { backend: this.name, reason: this.failureOf(error).kind });
    };
    const send = (credential: CredentialHeaders | undefined): Promise<Buffer> =>
      ask(channel, method, JSON.stringify(params), this.timeoutMs, { credential });
    try {
      // at once when possible: it must arrive before the call that opened the channel
      const credential = this.credentials.of(session.identity);
      (credential instanceof Promise ? credential.then(send) : send(credential)).catch(onLost);
    } catch (error) {
      onLost(error);
    }
  }

  /** Handles a message that belongs to no call. */
  #onOwnMessage(session: Session | undefined, channel: Channel, message: Buffer, envelope: Envelope): void {
    if (session) this.onMessage({ session, backend: this.name, channel, message, envelope });
    else if (envelope.method?.endsWith('/list_changed')) this.#listChanged(undefined);
    else answerUnroutable(channel, message, envelope);
  }

  #listChanged(session: Session | undefined): void {
    this.#options.onListChanged(this.credentials.perUser ? session?.principal : undefined);
  }

  #measured(channel: Channel): Channel {
    const openedAt = this.now();
    const { name: backend, peer, metrics } = this;
    return new MeasuredChannel(channel, (errorType) => {
      const durationMs = this.now() - openedAt;
      metrics.backendSessionEnded?.({ backend, peer, revision: channel.facts.revision, errorType, durationMs });
    });
  }

  get #url(): string | undefined {
    return URL.parse(this.config.url ?? '')?.href;
  }

  /** Opens a channel for a session: in its session at the backend, where replicas share that. */
  #openFor(session: Session, lost: BackendSession | undefined): Promise<Channel> {
    const isShared = session.shared !== undefined && this.config.per_replica !== true;
    const shared = isShared ? this.#options.backendSessions() : undefined;
    if (!shared) return this.#open(session);
    return shared.open(session, this.name, this.#url, lost, (resume) => this.#open(session, resume));
  }

  async #open(session: Session | undefined, resume?: BackendSession): Promise<Channel> {
    const { operational, transport } = this.#options;
    const opened: { channel?: Channel } = {};
    const early: [Buffer, Envelope][] = [];
    const owner: ChannelOwner & { readonly principal: string } = {
      key: session?.id ?? DISCOVERY,
      principal: session?.principal ?? 'anonymous',
      account: session?.account,
      capabilities: session?.capabilities ?? OWN_CAPABILITIES,
      revision: session?.revision ?? LATEST_REVISION,
      resume,
      isShared: session?.shared !== undefined,
      authorize: this.credentials.authorizeFor(session),
      onMessage: (message, envelope) => {
        const { channel } = opened;
        if (channel) this.#onOwnMessage(session, channel, message, envelope);
        else if (early.length < MAX_EARLY_MESSAGES) early.push([message, envelope]);
      },
    };
    const open = (signal: AbortSignal): Promise<Channel> => transport.open(owner, signal);
    const channel = this.#measured(await limited(this.#initTimeoutMs, open, this.#closed.signal));
    opened.channel = channel;
    for (const [message, envelope] of early) this.#onOwnMessage(session, channel, message, envelope);
    if (session ? receivesMessages(session) : listens(operational, this.name)) channel.listen();
    return channel;
  }
}

function peerOf({ transport, url }: Backend): Peer {
  const parsed = transport === 'stdio' || url === undefined ? null : URL.parse(url);
  if (!parsed) return { transport: 'pipe' };
  const port = parsed.port === '' ? (parsed.protocol === 'https:' ? 443 : 80) : Number(parsed.port);
  return { transport: 'tcp', address: parsed.hostname.replace(/^\[|\]$/gu, ''), port };
}

const listens = ({ list_changed: setting }: Operational, backend: string): boolean =>
  setting?.enabled !== false && !(setting?.disabled_workloads ?? []).includes(backend);
