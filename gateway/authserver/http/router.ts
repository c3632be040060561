import type { Request, RequestHandler, Response } from 'express';
import { sendJson } from './answers.ts';
import type { Endpoint } from './endpoint.ts';

const PREFLIGHT_MAX_AGE_SECONDS = 3600;
/** What pages of other origins may read of an answer. */
const EXPOSED = 'WWW-Authenticate, Retry-After';

/** How an endpoint's throw becomes an answer. */
export type AnswerRefusal = (endpoint: Endpoint, req: Request, res: Response, thrown: unknown) => void;

/** Answers requests for the given endpoints; hands on the others. */
export function route(endpoints: readonly Endpoint[], answerRefusal: AnswerRefusal): RequestHandler {
  const exact = byPath(endpoints.filter(({ withId }) => withId !== true));
  const parents = byPath(endpoints.filter(({ withId }) => withId === true));
  const find = (path: string): Endpoint | undefined =>
    exact.get(path) ?? (path.endsWith('/') ? undefined : parents.get(path.slice(0, path.lastIndexOf('/'))));
  return (req, res, next) => {
    const endpoint = find(req.path);
    if (endpoint) void serve(endpoint, req, res, answerRefusal);
    else next();
  };
}

const byPath = (endpoints: readonly Endpoint[]): ReadonlyMap<string, Endpoint> =>
  new Map(endpoints.flatMap((endpoint) => endpoint.paths.map((path) => [path, endpoint] as const)));

async function serve(endpoint: Endpoint, req: Request, res: Response, answerRefusal: AnswerRefusal): Promise<void> {
  if (endpoint.cors) res.set({ 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': EXPOSED });
  if (endpoint.cors && req.method === 'OPTIONS') {
    preflight(endpoint, res);
    return;
  }
  const handler = handlerOf(endpoint, req.method);
  if (!handler) {
    refuseMethod(endpoint, res);
    return;
  }
  try {
    await handler(req, res);
  } catch (thrown) {
    if (!res.headersSent && !res.destroyed) answerRefusal(endpoint, req, res, thrown);
    else res.destroy();
  }
}

const handlerOf = ({ methods, head = false }: Endpoint, method: string) =>
  method === 'HEAD' && head ? methods.GET : methods[method as keyof typeof methods];

const allowedMethods = ({ methods, head = false, cors }: Endpoint): string[] => [
  ...Object.keys(methods),
  ...(head ? ['HEAD'] : []),
  ...(cors ? ['OPTIONS'] : []),
];

function refuseMethod(endpoint: Endpoint, res: Response): void {
  const allowed = allowedMethods(endpoint);
  res.set('Allow', allowed.join(', '));
  sendJson(res, 405, { error: 'method_not_allowed', error_description: `use ${allowed.join(' or ')}` });
}

function preflight(endpoint: Endpoint, res: Response): void {
  res.set('Access-Control-Allow-Methods', allowedMethods(endpoint).join(', '));
  res.set('Access-Control-Allow-Headers', 'authorization, content-type, mcp-protocol-version');
  res.set('Access-Control-Max-Age', String(PREFLIGHT_MAX_AGE_SECONDS));
  res.status(204).end();
}
