import { setImmediate } from 'node:timers/promises';
import { scanBackendEnvelope } from '../../http/json-scan.ts';
import { memberOf } from '../../http/json-walk.ts';
import type { Catalog, ListItem } from '../aggregation/catalog.ts';
import { readCacheHint, strictest, type CacheHint } from '../aggregation/cache-hint.ts';
import { revisionOf } from '../../contract/protocol/revisions.ts';
import { CODE } from '../error-codes.ts';
import { extensionOf, SKILLS } from '../aggregation/extensions.ts';
import { nextCursor, readItems, WIRE } from '../aggregation/read-catalog.ts';
import { advertisedSkills } from '../aggregation/resources/skills.ts';
import { PAGED_KINDS, type PagedKind, type Warning } from '../aggregation/view.ts';
import { wordsOf } from '../health/reason.ts';
import { BackendError, type BackendFailure, type Channel } from '../transport/channel.ts';
import type { CredentialHeaders } from '../../outgoing/authenticator.ts';
import type { Session } from '../session.ts';
import type { BackendRuntime } from './backend.ts';
import { ask } from '../transport/request-reply.ts';

const MAX_PAGES = 1_000;
/** Most bytes of all pages of one list. */
const MAX_LIST_BYTES = 32 * 1024 * 1024;

/** Returns true when a backend declares this list. */
const DECLARES: Readonly<Record<PagedKind, (capabilities: Readonly<Record<string, unknown>>) => boolean>> = {
  tools: ({ tools }) => tools !== undefined,
  resources: ({ resources }) => resources !== undefined,
  templates: ({ resources }) => resources !== undefined,
  prompts: ({ prompts }) => prompts !== undefined,
  skills: (capabilities) => extensionOf(capabilities, SKILLS) !== undefined,
};

export interface AskOptions {
  readonly signal: AbortSignal;
  readonly credential: CredentialHeaders | undefined;
}

export interface BackendDiscovery {
  readonly catalog: Catalog;
  /** Lists that could not be read. */
  readonly warnings: readonly Warning[];
  /** Lists that could not be read, or not to their end, and may be readable later, with the cause in words. */
  readonly unread: UnreadLists;
}

export type UnreadLists = ReadonlyMap<PagedKind, string>;

/** Lists that a backend declares. */
export const declaredLists = (capabilities: Readonly<Record<string, unknown>>): PagedKind[] =>
  PAGED_KINDS.filter((kind) => DECLARES[kind](capabilities));

/**
 * Reads all lists of a backend on this channel. Reads only declared lists; a declared list whose method the backend does not
 * have is empty. Rejects with `BackendError` when no list can be read, or when the request for the tools got no answer.
 */
export async function discover(
  backend: string,
  channel: Channel,
  timeoutMs: number,
  options: AskOptions,
): Promise<BackendDiscovery> {
  const warnings: Warning[] = [];
  const lists: Partial<Record<PagedKind, readonly ListItem[]>> = {};
  const hints: Partial<Record<PagedKind, CacheHint>> = {};
  const failures: BackendError[] = [];
  const unread = new Map<PagedKind, string>();
  const { capabilities, revision, instructions } = channel.facts;
  const { hasCacheHints, mirrorsArguments } = revisionOf(revision);
  const declared = declaredLists(capabilities);
  const missing = (kind: PagedKind, failure: BackendFailure): void => {
    unread.set(kind, listFailure(WIRE[kind].method, failure));
  };
  const read = async (kind: PagedKind): Promise<void> => {
    try {
      const { pages, failure } = await readPages(channel, kind, timeoutMs, options);
      if (failure) missing(kind, failure);
      const list = await inTurns(readItems(backend, kind, pages, mirrorsArguments));
      if (hasCacheHints) hints[kind] = strictest(pages.map(readCacheHint));
      const { items, warnings: found } =
        kind === 'skills' ? advertisedSkills(backend, list.items) : { items: list.items, warnings: [] };
      warnings.push(...list.warnings, ...found);
      lists[kind] = items;
    } catch (error) {
      if (options.signal.aborted || !(error instanceof BackendError)) throw error;
      if (kind === 'tools' && error.failure.code === undefined) throw error;
      failures.push(error);
      missing(kind, error.failure);
    }
  };
  await Promise.all(declared.map(read));
  const [failure] = failures;
  if (failure && failures.length === declared.length) throw failure;
  const { tools = [], resources = [], templates = [], prompts = [] } = lists;
  const skills = declared.includes('skills') ? (lists.skills ?? []) : undefined;
  return {
    catalog: {
      ...{ backend, tools, resources, templates, prompts, skills, capabilities, revision, hints },
      ...{ instructions, warnings },
    },
    warnings: [...unread].map(([kind, cause]) => listUnavailable(backend, kind, cause)),
    unread,
  };
}

export const listUnavailable = (backend: string, kind: PagedKind, cause: string): Warning => ({
  reason: 'ListUnavailable',
  backend,
  message: `the ${kind} cannot be read, and the gateway tries again: ${cause}`,
});

/** Returns the cause of a list that cannot be read, in words. */
const listFailure = (method: string, failure: BackendFailure): string =>
  failure.code === undefined ? `${method} fails, as ${wordsOf(failure)}` : wordsOf(failure);

/**
 * Reads the lists of a backend for the session's principal, on the session's channel. `failureOfError` converts
 * rejections.
 */
export async function discoverFor(session: Session, runtime: BackendRuntime | undefined): Promise<BackendDiscovery> {
  if (!runtime) throw new BackendError({ kind: 'unavailable', detail: 'removed' });
  const { name, timeoutMs } = runtime;
  const signal = AbortSignal.timeout(timeoutMs);
  return runtime.runFor(session, (channel, credential) => discover(name, channel, timeoutMs, { signal, credential }));
}

/** Returns the lists that were found, with the last items of those that could not be read. */
export function withLast({ catalog, unread }: BackendDiscovery, last: Catalog | undefined): Catalog {
  if (!last || unread.size === 0) return catalog;
  return { ...catalog, ...Object.fromEntries([...unread.keys()].map((kind) => [kind, last[kind]])) };
}

/** Lets the event loop run whenever `reading` pauses. */
async function inTurns<Result>(reading: Generator<undefined, Result>): Promise<Result> {
  for (;;) {
    const { done, value } = reading.next();
    if (done === true) return value;
    await setImmediate();
  }
}

/** Returns true for the answer of a backend that does not have the method, although it declares the list. */
const isNoList = (kind: PagedKind, { status, code }: BackendFailure): boolean =>
  code === CODE.methodNotFound || (status === 405 && kind !== 'tools');

/** Pages of a list. `failure` is present when the backend refused a later page. */
interface Pages {
  readonly pages: readonly Buffer[];
  readonly failure?: BackendFailure;
}

async function readPages(channel: Channel, kind: PagedKind, timeoutMs: number, options: AskOptions): Promise<Pages> {
  const { method } = WIRE[kind];
  const pages: Buffer[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  let length = 0;
  do {
    const params = cursor === undefined ? undefined : JSON.stringify({ cursor });
    const page = await askPage(channel, method, params, timeoutMs, options).catch((error: unknown) => {
      if (!(error instanceof BackendError)) throw error;
      const { failure } = error;
      if (pages.length === 0 && isNoList(kind, failure)) return undefined;
      if (pages.length > 0 && failure.code !== undefined) return failure;
      throw error;
    });
    if (page === undefined) return { pages };
    if (!Buffer.isBuffer(page)) return { pages, failure: page };
    length += page.length;
    if (length > MAX_LIST_BYTES)
      throw new BackendError({
        kind: 'too_large',
        detail: `${method} lists more than ${String(MAX_LIST_BYTES)} bytes`,
      });
    pages.push(page);
    cursor = nextCursor(page, channel.facts.revision);
    if (cursor !== undefined && seen.has(cursor)) return { pages };
    if (cursor !== undefined) seen.add(cursor);
  } while (cursor !== undefined && pages.length < MAX_PAGES);
  return { pages };
}

/** Returns the result of a list request. Rejects with `BackendError`, also for a JSON-RPC error. */
async function askPage(
  channel: Channel,
  method: string,
  params: string | undefined,
  timeoutMs: number,
  options: AskOptions,
): Promise<Buffer> {
  const reply = await ask(channel, method, params, timeoutMs, options);
  const { result, error } = scanBackendEnvelope(reply);
  if (result !== undefined) return reply.subarray(result.start, result.end);
  const span = memberOf(reply, error, 'code');
  const code = span ? Number(reply.toString('latin1', span.start, span.end)) : 0;
  const detail = `${method} was answered with the error ${String(code)}`;
  throw new BackendError({ kind: 'refused', detail, cause: `${method} answers the error ${String(code)}`, code });
}
