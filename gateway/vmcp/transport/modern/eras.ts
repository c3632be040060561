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
import { isSessionless, MODERN_REVISION } from '../../../contract/protocol/revisions.ts';
import { verdictOf, verdictOfFailure, type DiscoveryVerdict } from './discovery.ts';
import { ModernChannel, type ModernChannelOptions } from './modern-channel.ts';
import { httpTransport, type HttpTransportOptions } from '../http/http-transport.ts';
import { requestReply } from '../request-reply.ts';

/** Longest wait for the reply to `server/discover`, ms. */
const PROBE_MS = 3_000;
/** Wait for that reply before `initialize` is sent, too, ms: otherwise slow backends would become slower. */
const PATIENCE_MS = 250;
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

/** Closes a channel that nobody needs, when it opens. */
const discard = (opening: Promise<Channel> | undefined): void => {
  opening?.then((channel) => channel.close()).catch(() => undefined);
};

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
    if (owner.resume || this.#modern === false || this.#now() < this.#assumedUntil)
      return this.#openLegacy(owner, signal);
    if (this.#modern === undefined) return this.#openUnknown(owner, signal);
    if (this.#isFree(owner)) return this.#modernChannel(owner, this.#modern);
    return this.#orModern(this.#openLegacy(owner, signal), owner, this.#modern);
  }

  /** Asks in the new era, and also in the old one when the backend does not answer at once: it may be slow. */
  async #openUnknown(owner: ChannelOwner, signal: AbortSignal): Promise<Channel> {
    let older: Promise<Channel> | undefined;
    const timer = setTimeout(() => {
      older = this.#openLegacy(owner, signal);
      older.catch(() => undefined); // read below, unless the backend needs no session
    }, PATIENCE_MS);
    try {
      const facts = await this.#factsFor(owner, signal);
      clearTimeout(timer);
      if (facts && this.#isFree(owner)) {
        discard(older);
        return this.#modernChannel(owner, facts);
      }
      older ??= this.#openLegacy(owner, signal);
      if (facts) return await this.#orModern(older, owner, facts);
      const channel = await older;
      if (this.#modern === undefined) this.#assumedUntil = this.#now() + ASSUMED_MS;
      return channel;
    } catch (error) {
      clearTimeout(timer);
      discard(older);
      throw error;
    }
  }

  /** Returns true for an owner that needs no session. */
  #isFree({ key, revision }: ChannelOwner): boolean {
    return key === DISCOVERY || isSessionless(revision) || this.#hasSessions === false;
  }

  /** Forgets what is known, because the backend answers in another way. */
  readonly forget = (): void => {
    this.#modern = undefined;
    this.#hasSessions = undefined;
    this.#assumedUntil = 0;
  };

  /** Returns the channel with a session when a backend of the new revision has sessions, too, else one without. */
  async #orModern(older: Promise<Channel>, owner: ChannelOwner, facts: ServerFacts): Promise<Channel> {
    try {
      const channel = await older;
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
    const verdict = await this.#discover(owner, signal);
    const last = verdict.era === 'retry' ? await this.#discover(owner, signal) : verdict;
    if (last.era === 'modern') this.#modern = last.facts;
    else if (last.era === 'legacy') this.#modern = false;
    return this.#modern || undefined;
  }

  async #discover(owner: ChannelOwner, signal: AbortSignal): Promise<DiscoveryVerdict> {
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
