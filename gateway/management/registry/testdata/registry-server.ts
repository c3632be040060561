import type { IncomingMessage, ServerResponse } from 'node:http';
import { serve } from '../../../outbound/testdata/servers.ts';

/** Answer of the test's registry to one request. */
export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Never answers. */
  readonly hangs?: boolean;
}

/** A registry on loopback whose answers can change. It ends with the test. */
export interface TestRegistry {
  readonly url: string;
  /** Path and query of every request, with the Authorization header if there is one. */
  readonly requests: string[];
  /** Headers of the last request. */
  last(): IncomingMessage['headers'];
  answer(reply: (path: string, query: URLSearchParams, headers: IncomingMessage['headers']) => Reply): void;
}

export async function startRegistry(reply: Reply = {}): Promise<TestRegistry> {
  let answer: Parameters<TestRegistry['answer']>[0] = () => reply;
  let last: IncomingMessage['headers'] = {};
  const requests: string[] = [];
  const onRequest = (req: IncomingMessage, res: ServerResponse): void => {
    const { pathname, search, searchParams } = new URL(req.url ?? '', 'http://registry');
    last = req.headers;
    requests.push([`${pathname}${search}`, req.headers.authorization ?? []].flat().join(' '));
    const { status = 200, headers = {}, body = '', hangs = false } = answer(pathname, searchParams, req.headers);
    if (hangs) return;
    res.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
  };
  const { port } = await serve(onRequest);
  return {
    url: `http://127.0.0.1:${String(port)}`,
    requests,
    last: () => last,
    answer: (next) => {
      answer = next;
    },
  };
}

/** Answers as a server of the registry protocol with these pages of servers, and skills or 404. */
export const protocolAnswers =
  (pages: readonly (readonly object[])[], skills?: readonly object[]) =>
  (path: string, query: URLSearchParams): Reply => {
    if (path.endsWith('/skills') && skills) return { body: { skills, metadata: {} } };
    if (!path.endsWith('/v0.1/servers')) return { status: 404, body: { error: 'not found' } };
    const page = Number(query.get('cursor') ?? '0');
    const nextCursor = page + 1 < pages.length ? { nextCursor: String(page + 1) } : {};
    const servers = (pages[page] ?? []).map((server) => ({ server, _meta: {} }));
    return { body: { servers, metadata: { count: servers.length, ...nextCursor } } };
  };
