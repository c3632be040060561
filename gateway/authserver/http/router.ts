import type { Request, RequestHandler, Response } from 'express';
import type { Endpoint } from './endpoint.ts';

const PREFLIGHT_MAX_AGE_SECONDS = 3600;

/** How an endpoint's throw becomes an answer. */
export type AnswerRefusal = (endpoint: Endpoint, req: Request, res: Response, thrown: unknown) => void;

/** Answers requests for the given endpoints; hands on the others. */
export function route(endpoints: readonly Endpoint[], answerRefusal: AnswerRefusal): RequestHandler {
  const exact = new Map(endpoints.flatMap((endpoint) => endpoint.paths.map((path) => [path, endpoint] as const)));
  const find = (path: string): Endpoint | undefined => {
    const found = exact.get(path);
    if (found) return found.withId ? undefined : found;
    const parent = exact.get(path.slice(0, path.lastIndexOf('/')));
    return parent?.withId === true && !path.endsWith('/') ? parent : undefined;
  };
  return (req, res, next) => {
    const endpoint = find(req.path);
    if (endpoint) void serve(endpoint, req, res, answerRefusal);
    else next();
  };
}

async function serve(endpoint: Endpoint, req: Request, res: Response, answerRefusal: AnswerRefusal): Promise<void> {
  if (endpoint.cors) res.set('Access-Control-Allow-Origin', '*');
  if (endpoint.cors && req.method === 'OPTIONS') {
    preflight(endpoint, res);
    return;
  }
  const handler = handlerOf(endpoint, req.method);
  if (!handler) {
    const allowed = allowedMethods(endpoint);
    res.status(405).set('Allow', allowed.join(', '));
    res.json({ error: 'method_not_allowed', error_description: `use ${allowed.join(' or ')}` });
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

function preflight(endpoint: Endpoint, res: Response): void {
  res.set('Access-Control-Allow-Methods', allowedMethods(endpoint).join(', '));
  res.set('Access-Control-Allow-Headers', 'authorization, content-type, mcp-protocol-version');
  res.set('Access-Control-Max-Age', String(PREFLIGHT_MAX_AGE_SECONDS));
  res.status(204).end();
}
