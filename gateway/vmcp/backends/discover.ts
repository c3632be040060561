import { scanEnvelope } from '../../http/json-scan.ts';
import type { Catalog, ListItem } from '../aggregation/catalog.ts';
import { nextCursor, readItems } from '../aggregation/read-catalog.ts';
import type { ListKind, Warning } from '../aggregation/view.ts';
import { BackendError, type Channel } from '../transport/channel.ts';
import { ask } from '../transport/request-reply.ts';

const MAX_PAGES = 1_000;

/** Per list: the request that asks for it and the capability that promises it. */
const LISTS: Readonly<Record<ListKind, { readonly method: string; readonly capability: string }>> = {
  tools: { method: 'tools/list', capability: 'tools' },
  resources: { method: 'resources/list', capability: 'resources' },
  templates: { method: 'resources/templates/list', capability: 'resources' },
  prompts: { method: 'prompts/list', capability: 'prompts' },
};

/**
 * Reads everything a backend offers on this channel. Only what it declared is asked for, and a list that it then refuses
 * is empty: a backend that promises too much is not a broken one. Rejects with `BackendError` when the backend fails.
 */
export async function discover(
  backend: string,
  channel: Channel,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<{ catalog: Catalog; warnings: readonly Warning[] }> {
  const warnings: Warning[] = [];
  const read = async (kind: ListKind): Promise<readonly ListItem[]> => {
    if (channel.facts.capabilities[LISTS[kind].capability] === undefined) return [];
    const pages = await readPages(channel, LISTS[kind].method, timeoutMs, signal);
    const list = readItems(backend, kind, pages);
    warnings.push(...list.warnings);
    return list.items;
  };
  const [tools, resources, templates, prompts] = await Promise.all([
    read('tools'),
    read('resources'),
    read('templates'),
    read('prompts'),
  ]);
  return {
    catalog: { backend, tools, resources, templates, prompts, capabilities: channel.facts.capabilities },
    warnings,
  };
}

async function readPages(channel: Channel, method: string, timeoutMs: number, signal: AbortSignal): Promise<Buffer[]> {
  const pages: Buffer[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  do {
    const params = cursor === undefined ? undefined : JSON.stringify({ cursor });
    const reply = await ask(channel, method, params, timeoutMs, signal).catch((error: unknown) => {
      // some backends answer 404, 405, 429 or 501 for a list they declared but do not have
      if (pages.length === 0 && error instanceof BackendError && error.failure.kind === 'garbage') return undefined;
      throw error;
    });
    if (reply === undefined) return pages;
    const { result } = scanEnvelope(reply, 'backend');
    if (result === undefined) return pages;
    const page = reply.subarray(result.start, result.end);
    pages.push(page);
    cursor = nextCursor(page);
    if (cursor !== undefined && seen.has(cursor)) return pages;
    if (cursor !== undefined) seen.add(cursor);
  } while (cursor !== undefined && pages.length < MAX_PAGES);
  return pages;
}
