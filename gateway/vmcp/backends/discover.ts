import { scanBackendEnvelope } from '../../http/json-scan.ts';
import type { Catalog, ListItem } from '../aggregation/catalog.ts';
import { readCacheHint, strictest, type CacheHint } from '../aggregation/cache-hint.ts';
import { isModern } from '../era.ts';
import { extensionOf, SKILLS } from '../aggregation/extensions.ts';
import { nextCursor, readItems, WIRE } from '../aggregation/read-catalog.ts';
import { advertisedSkills } from '../aggregation/resources/skills.ts';
import { PAGED_KINDS, type PagedKind, type Warning } from '../aggregation/view.ts';
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

export interface Discovery {
  readonly catalog: Catalog;
  readonly warnings: readonly Warning[];
  /** False when a list could not be read and may be readable later. */
  readonly complete: boolean;
}

/**
 * Reads all lists of a backend on this channel. Reads only declared lists; a declared list that the backend then
 * rejects is empty. Rejects with `BackendError` when the tools, or all lists, cannot be read.
 */
export async function discover(
  backend: string,
  channel: Channel,
  timeoutMs: number,
  options: AskOptions,
): Promise<Discovery> {
  const warnings: Warning[] = [];
  const lists: Partial<Record<PagedKind, readonly ListItem[]>> = {};
  const hints: Partial<Record<PagedKind, CacheHint>> = {};
  const failures: BackendError[] = [];
  const { capabilities, revision } = channel.facts;
  const declared = PAGED_KINDS.filter((kind) => DECLARES[kind](capabilities));
  const read = async (kind: PagedKind): Promise<void> => {
    const { method } = WIRE[kind];
    try {
      const pages = await readPages(channel, method, timeoutMs, options);
      const list = readItems(backend, kind, pages, isModern(channel.facts.revision));
      if (isModern(channel.facts.revision)) hints[kind] = strictest(pages.map(readCacheHint));
      const { items, warnings: found } =
        kind === 'skills' ? advertisedSkills(backend, list.items) : { items: list.items, warnings: [] };
      warnings.push(...list.warnings, ...found);
      lists[kind] = items;
    } catch (error) {
      if (kind === 'tools' || options.signal.aborted || !(error instanceof BackendError)) throw error;
      failures.push(error);
      warnings.push({ reason: 'ListUnavailable', backend, message: `${method} failed: ${error.failure.kind}` });
    }
  };
  await Promise.all(declared.map(read));
  const [failure] = failures;
  if (failure && failures.length === declared.length) throw failure;
  const { tools = [], resources = [], templates = [], prompts = [] } = lists;
  const skills = declared.includes('skills') ? (lists.skills ?? []) : undefined;
  return {
    catalog: { backend, tools, resources, templates, prompts, skills, capabilities, revision, hints },
    warnings,
    complete: failures.length === 0,
  };
}

/**
 * Reads the lists of a backend for the session's principal, on the session's channel. `failureOfError` converts
 * rejections.
 */
export async function discoverFor(session: Session, runtime: BackendRuntime | undefined): Promise<Catalog> {
  if (!runtime) throw new BackendError({ kind: 'unavailable', detail: 'removed' });
  const { name, timeoutMs } = runtime;
  const signal = AbortSignal.timeout(timeoutMs);
  return runtime.runFor(session, async (channel, credential) => {
    const { catalog } = await discover(name, channel, timeoutMs, { signal, credential });
    return catalog;
  });
}

const isNoList = ({ kind, status }: BackendFailure): boolean => kind === 'garbage' || status === 405;

async function readPages(channel: Channel, method: string, timeoutMs: number, options: AskOptions): Promise<Buffer[]> {
  const pages: Buffer[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  let length = 0;
  do {
    const params = cursor === undefined ? undefined : JSON.stringify({ cursor });
    const reply = await ask(channel, method, params, timeoutMs, options).catch((error: unknown) => {
      // some backends declare a list and answer 405 for it
      if (pages.length === 0 && error instanceof BackendError && isNoList(error.failure)) return undefined;
      throw error;
    });
    if (reply === undefined) return pages;
    const { result } = scanBackendEnvelope(reply);
    if (result === undefined) return pages;
    const page = reply.subarray(result.start, result.end);
    length += page.length;
    if (length > MAX_LIST_BYTES)
      throw new BackendError({
        kind: 'too_large',
        detail: `${method} lists more than ${String(MAX_LIST_BYTES)} bytes`,
      });
    pages.push(page);
    cursor = nextCursor(page, channel.facts.revision);
    if (cursor !== undefined && seen.has(cursor)) return pages;
    if (cursor !== undefined) seen.add(cursor);
  } while (cursor !== undefined && pages.length < MAX_PAGES);
  return pages;
}
