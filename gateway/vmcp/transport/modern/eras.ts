import { MODERN_REVISION } from '../../era.ts';
import { unlessAborted } from '../abort.ts';
import {
  BackendError,
  DISCOVERY,
  type Channel,
  type ChannelOwner,
  type FailureKind,
  type ServerFacts,
  type Transport,
} from '../channel.ts';
import { isModern } from '../../era.ts';
import { verdictOf, verdictOfFailure, type Verdict } from './discovery.ts';
import { ModernChannel, type ModernChannelOptions } from './modern-channel.ts';
import { httpTransport, type HttpTransportOptions } from '../http/http-transport.ts';
import { requestReply } from '../request-reply.ts';

/** Longest wait for the reply to `server/discover`, ms. */
const PROBE_MS = 3_000;
/** Time for which a backend that does not answer `server/discover` but `initialize` counts as older, ms. */
const ASSUMED_MS = 300_000;

/** Facts of a backend before its first reply. */
const UNKNOWN: ServerFacts = {
  revision: MODERN_REVISION,
  capabilities: {},
  serverInfo: {},
  instructions: undefined,
  hasSession: false,
};

/** Failures of `initialize` that a backend without sessions causes. */
const NO_SESSIONS: ReadonlySet<FailureKind> = new Set(['garbage', 'refused']);

/** Creates a transport for streamable HTTP to a backend with or without sessions. `now` is in ms since the epoch. */
export function anyEraTransport(options: HttpTransportOptions, now: () => number): Transport {
  const http = httpTransport(options);
  const { calls, streams } = http;
  const eras = new Eras({ ...options, calls, streams }, (owner, signal) => http.open(owner, signal), now);
  return { open: (owner, signal) => eras.open(owner, signal), close: () => http.close() };
}

/** Opens the channel for an owner whose backend has sessions. */
type OpenLegacy = (owner: ChannelOwner, signal: AbortSignal) => Promise<Channel>;

/**
 * Finds out which eras a backend speaks, once and again when it answers in another way, and opens channels in the era
 * of their owner where the backend speaks both. @see MCP 2026-07-28, basic/lifecycle, Backward Compatibility
 */
class Eras {
  readonly #options: Omit<ModernChannelOptions, 'onOtherEra'>;
  readonly #openLegacy: OpenLegacy;
  readonly #now: () => number;
  /** Facts of a backend without sessions; `false` for one of an older revision. */
  #modern: ServerFacts | false | undefined;
  /** False for a backend that refuses `initialize`. */
  #hasSessions: boolean | undefined;
  #assumedUntil = 0;

  constructor(options: Omit<ModernChannelOptions, 'onOtherEra'>, openLegacy: OpenLegacy, now: () => number) {
    this.#options = options;
    this.#openLegacy = openLegacy;
    this.#now = now;
  }

  async open(owner: ChannelOwner, signal: AbortSignal): Promise<Channel> {
    const facts = await this.#factsFor(owner, signal);
    if (!facts) {
      const channel = await this.#openLegacy(owner, signal);
      if (this.#modern === undefined) this.#assumedUntil = this.#now() + ASSUMED_MS;
      return channel;
    }
    const isFree = owner.key === DISCOVERY || isModern(owner.revision) || this.#hasSessions === false;
    return isFree ? this.#modernChannel(owner, facts) : this.#openOlder(owner, facts, signal);
  }

  /** Forgets what is known, because the backend answers in another way. */
  readonly forget = (): void => {
    this.#modern = undefined;
    this.#hasSessions = undefined;
    this.#assumedUntil = 0;
  };

  /** Opens a channel for an owner of an older revision at a backend without sessions, which may have them, too. */
  async #openOlder(owner: ChannelOwner, facts: ServerFacts, signal: AbortSignal): Promise<Channel> {
    try {
      const channel = await this.#openLegacy(owner, signal);
      this.#hasSessions = true;
      return channel;
    } catch (error) {
      if (!(error instanceof BackendError) || !NO_SESSIONS.has(error.failure.kind)) throw error;
      this.#hasSessions = false;
      return this.#modernChannel(owner, facts);
    }
  }

  #modernChannel(owner: ChannelOwner, facts: ServerFacts): ModernChannel {
    return new ModernChannel({ ...this.#options, onOtherEra: this.forget }, owner, facts);
  }

  /** Returns undefined for a backend that is spoken to as one with sessions. */
  async #factsFor(owner: ChannelOwner, signal: AbortSignal): Promise<ServerFacts | undefined> {
    if (this.#modern !== undefined) return this.#modern || undefined;
    if (this.#now() < this.#assumedUntil) return undefined;
    const verdict = await this.#discover(owner, signal);
    const last = verdict.era === 'retry' ? await this.#discover(owner, signal) : verdict;
    if (last.era === 'modern') this.#modern = last.facts;
    else if (last.era === 'legacy') this.#modern = false;
    return this.#modern || undefined;
  }

  async #discover(owner: ChannelOwner, signal: AbortSignal): Promise<Verdict> {
    const channel = this.#modernChannel(owner, UNKNOWN);
    const credential = await unlessAborted(owner.authorize?.(), signal);
    const request = {
      method: 'server/discover',
      params: undefined,
      id: Buffer.from('0'),
      timeoutMs: PROBE_MS,
      credential,
    };
    try {
      return verdictOf(await requestReply((each, sink) => channel.exchange(each, sink), request, { signal }));
    } catch (error) {
      if (!(error instanceof BackendError) || signal.aborted) throw error;
      return verdictOfFailure(error.failure);
    }
  }
}
