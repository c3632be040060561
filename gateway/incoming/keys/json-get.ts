import { setTimeout as sleep } from 'node:timers/promises';
import type { Outbound, OutboundReply } from '../../outbound/fetch.ts';
import { OutboundError, type OutboundFault } from '../../outbound/outbound-error.ts';
import { FileUnreadable } from '../../outbound/watched-file.ts';
import type { Dependency } from '../refusal.ts';

interface FailureFacts {
  readonly status?: number | undefined;
  readonly final?: boolean;
  readonly dependency?: Dependency;
}

/** A document could not be fetched. `message` says what the operator can check; it quotes nothing from a reply. */
export class FetchFailure extends Error {
  /** CamelCase, for `/status`. */
  readonly reason: string;
  /** HTTP status of the reply; undefined when there was none. */
  readonly status: number | undefined;
  /** True when an immediate retry is useless. */
  readonly final: boolean;
  readonly dependency: Dependency;
  constructor(reason: string, message: string, { status, final = false, dependency = 'keys' }: FailureFacts = {}) {
    super(message);
    this.name = 'FetchFailure';
    this.reason = reason;
    this.status = status;
    this.final = final;
    this.dependency = dependency;
  }
}

export interface JsonDocument {
  readonly document: unknown;
  /** Body as received. */
  readonly text: string;
  /** Time for which the reply may be cached. */
  readonly maxAgeMs: number;
}

/** Rejects with `FetchFailure`. */
export type JsonGet = (url: string) => Promise<JsonDocument>;

const MAX_BYTES = 256 * 1024;
const TIMEOUT_MS = 5_000;
const MAX_AGE_S = { least: 60, usual: 600, most: 86_400 };

interface JsonGetOptions {
  readonly outbound: Outbound;
  /** Returns the credential headers for a URL. Called for each request. Throws `FileUnreadable`. */
  readonly headersFor: (url: string) => Readonly<Record<string, string>>;
  /** Dependency that is down when this fails. */
  readonly dependency: Dependency;
}

export const jsonGet =
  (options: JsonGetOptions): JsonGet =>
  async (url) => {
    const { dependency } = options;
    const reply = await request(url, options);
    if (reply.status !== 200) {
      const message = `GET ${withoutQuery(url)} answered ${String(reply.status)}`;
      throw new FetchFailure('UnexpectedStatus', message, { status: reply.status, dependency });
    }
    return {
      document: parse(reply.body, url, dependency),
      text: reply.body,
      maxAgeMs: maxAgeSeconds(reply.headers['cache-control']) * 1000,
    };
  };

async function request(url: string, options: JsonGetOptions): Promise<OutboundReply> {
  const { outbound, dependency } = options;
  const headers = { accept: 'application/json, application/jwk-set+json', ...credentials(url, options) };
  const limits = { maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS };
  try {
    return await outbound.request({ url, method: 'GET', headers, followRedirects: true, ...limits });
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    throw new FetchFailure(REASONS[error.kind], error.message, { final: error.kind === 'refused', dependency });
  }
}

function credentials(url: string, { headersFor, dependency }: JsonGetOptions): Readonly<Record<string, string>> {
  try {
    return headersFor(url);
  } catch (error) {
    if (!(error instanceof FileUnreadable)) throw error;
    throw new FetchFailure('FileUnreadable', error.message, { final: true, dependency });
  }
}

const REASONS = {
  refused: 'AddressRefused',
  timeout: 'KeysUnavailable',
  too_large: 'ReplyTooLarge',
  unreachable: 'KeysUnavailable',
  redirect: 'RedirectRefused',
  not_text: 'NotJson',
} as const satisfies Record<OutboundFault, string>;

function parse(body: string, url: string, dependency: Dependency): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw new FetchFailure('NotJson', `GET ${withoutQuery(url)} answered something that is not JSON`, { dependency });
  }
}

/** Drops the query string: it may contain an API key. */
const withoutQuery = (url: string): string => url.replace(/[?#].*/s, '');

/** @see RFC 9111 §5.2.2.1 */
function maxAgeSeconds(cacheControl: string | undefined): number {
  const found = /(?:^|[\s,])max-age=(\d{1,9})/i.exec(cacheControl ?? '')?.[1];
  if (found === undefined) return MAX_AGE_S.usual;
  return Math.min(Math.max(Number(found), MAX_AGE_S.least), MAX_AGE_S.most);
}

/** Pauses before the second and third attempt, ms. */
export const RETRY_PAUSES_MS: readonly number[] = [500, 2_000];

/** Retries until success, a final failure or the last pause. Rejects with the last error. */
export async function withRetries<T>(attempt: () => Promise<T>, pausesMs: readonly number[]): Promise<T> {
  for (const pauseMs of pausesMs) {
    try {
      return await attempt();
    } catch (error) {
      if (error instanceof FetchFailure && error.final) throw error;
      await sleep(pauseMs, undefined, { ref: false });
    }
  }
  return attempt();
}
