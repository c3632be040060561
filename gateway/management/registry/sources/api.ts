import type { JsonObject } from '../../../contract/json.ts';
import { readServers, readSkills } from '../document/catalog.ts';
import { RegistryFault } from '../fault.ts';
import { objectIn, shownOrigin, requireAccess, type Request } from './request.ts';
import type { RegistrySource } from './source.ts';

const FIRST_TIMEOUT_MS = 10_000;
/** Ends before the time of an operation, so that its answer can give the reason. */
const WHOLE_TIMEOUT_MS = 55_000;
const PROBE_TIMEOUT_MS = 5_000;
const PAGE_LENGTH = 100;
const SKILL_PAGE_LENGTH = 200;
const MAX_ENTRIES = 10_000;

/** Server that speaks the MCP registry protocol, v0.1. */
export const api: RegistrySource = {
  type: 'api',
  isRemote: true,
  read: async (base, { request, readAt, known }) => {
    const signal = AbortSignal.timeout(WHOLE_TIMEOUT_MS);
    const limited: Request = (url, options) => request(url, { ...options, signal });
    try {
      const { servers, problems } = readServers(await allServers(base, limited), readAt);
      const read = await allSkills(base, limited);
      const skills = read?.skills ?? known?.catalog.skills;
      const all = [...problems, ...(read?.problems ?? [])];
      return { catalog: { version: '1.0.0', lastUpdated: readAt, servers, skills, problems: all } };
    } catch (error) {
      if (!signal.aborted) throw error;
      throw new RegistryFault('connect', `${shownOrigin(base)} does not deliver its servers within a minute`, error);
    }
  },
};

/** Returns true for a server that speaks the protocol, also when it requires a login. */
export async function speaksProtocol(base: string, request: Request): Promise<boolean> {
  const reply = await request(serversUrl(base, { limit: '1' }), { timeoutMs: PROBE_TIMEOUT_MS });
  if (reply.status === 401 || reply.status === 403) return true;
  const page = objectIn(reply);
  return Array.isArray(page?.['servers']) && typeof page['metadata'] === 'object' && page['metadata'] !== null;
}

async function allServers(base: string, request: Request): Promise<unknown[]> {
  const entries: unknown[] = [];
  const seen = new Set<string>();
  for (let cursor = ''; entries.length < MAX_ENTRIES && !seen.has(cursor);) {
    seen.add(cursor);
    const query = { limit: String(PAGE_LENGTH), ...(cursor !== '' && { cursor }) };
    const page = await pageAt(serversUrl(base, query), request);
    const { servers, metadata } = page;
    if (!Array.isArray(servers)) throw wrongAnswer(base);
    entries.push(...(servers as unknown[]));
    const next = (metadata as JsonObject | null | undefined)?.['nextCursor'];
    if (typeof next !== 'string' || next === '') break;
    cursor = next;
  }
  return entries.slice(0, MAX_ENTRIES);
}

/** Returns all skills, none if the registry has no such list, or undefined if the list cannot be read. */
async function allSkills(base: string, request: Request): Promise<ReturnType<typeof readSkills> | undefined> {
  const entries: unknown[] = [];
  for (let page = 1; entries.length < MAX_ENTRIES; page += 1) {
    const url = `${base}/v0.1/x/dev.vmcp/skills?page=${String(page)}&limit=${String(SKILL_PAGE_LENGTH)}`;
    const reply = await request(url, { timeoutMs: FIRST_TIMEOUT_MS });
    requireAccess(reply);
    if (reply.status === 404 || reply.status === 405) return readSkills([]);
    const skills = objectIn(reply)?.['skills'];
    if (!Array.isArray(skills)) return undefined;
    entries.push(...(skills as unknown[]));
    if (skills.length < SKILL_PAGE_LENGTH) break;
  }
  return readSkills(entries);
}

async function pageAt(url: string, request: Request): Promise<JsonObject> {
  const reply = await request(url, { timeoutMs: FIRST_TIMEOUT_MS });
  requireAccess(reply);
  const page = objectIn(reply);
  if (!page) throw wrongAnswer(url);
  return page;
}

const wrongAnswer = (url: string): RegistryFault =>
  new RegistryFault('connect', `${shownOrigin(url)} does not answer as an MCP registry: check the address`);

const serversUrl = (base: string, query: Readonly<Record<string, string>>): string =>
  `${base}/v0.1/servers?${new URLSearchParams({ ...query, version: 'latest' }).toString()}`;
