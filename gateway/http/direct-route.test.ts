import express, { type Express, type RequestHandler } from 'express';
import { afterEach, expect, it } from 'vitest';
import { listen, type Listener } from '../listener.ts';
import { serveDirectly, inOrder } from './direct-route.ts';

let listener: Listener | undefined;
afterEach(() => listener?.close());

/** Starts an app whose route `/call` runs `handler` behind a check, directly and through Express. */
async function start(handler: RequestHandler): Promise<(path: string, method?: string) => Promise<string>> {
  const app: Express = express();
  const check: RequestHandler = (_req, res, next) => {
    res.locals['user'] = 'ann';
    next();
  };
  app.use(check, (_req, res, next) => {
    res.setHeader('x-way', 'express');
    next();
  });
  app.post('/call', handler);
  const onError: express.ErrorRequestHandler = (error: Error, _req, res, next) => {
    if (res.headersSent) next(error);
    else res.status(500).json({ error: error.message });
  };
  app.use(onError);
  const targetOf = (url: string): string => url.replace(/^\/public/u, '');
  serveDirectly(app, { method: 'POST', url: '/call', serve: inOrder(check, handler), onError, targetOf });
  listener = await listen(app, '127.0.0.1', 0);
  const { address } = listener;
  return async (path, method = 'POST') => {
    const reply = await fetch(`http://${address}${path}`, { method, signal: AbortSignal.timeout(5_000) });
    return `${String(reply.status)} ${reply.headers.get('x-way') ?? 'direct'} ${await reply.text()}`;
  };
}

it('serves the exact method and target directly, and other spellings by the same handlers through Express', async () => {
  const send = await start((req, res) => {
    res.json([res.locals['user'], req.originalUrl, req.baseUrl, req.path, req.res === res]);
  });
  expect(await send('/call')).toBe('200 direct ["ann","/call","","/call",true]');
  expect(await send('/CALL?x=1')).toBe('200 express ["ann","/CALL?x=1","","/CALL",true]');
  expect(await send('/public/call')).toBe('200 direct ["ann","/call","","/call",true]');
  expect(await send('/public/call?x=1')).toBe('200 express ["ann","/call?x=1","","/call",true]');
  expect(await send('/call', 'GET')).toMatch(/^404 express/u);
});

it.each<[string, RequestHandler]>([
  ['throws', () => void JSON.parse('{')],
  ['passes an error on', (_req, _res, next) => next(new Error('broken'))],
])('answers 500 when a handler %s', async (_, handler) => {
  const send = await start(handler);
  expect(await send('/call')).toMatch(/^500 direct \{"error":/u);
});

it('disconnects a client whose response fails halfway', async () => {
  const send = await start((_req, res, next) => {
    res.write('half');
    next(new Error('broken'));
  });
  await expect(send('/call')).rejects.toThrow(/terminated|fetch failed/u);
});
