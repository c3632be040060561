import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { expect, it } from 'vitest';
import { inOrder } from './direct-route.ts';

const RES = {} as unknown as Response;

/** Runs the handlers and returns what was called, and the argument of the last `next`. */
function run(url: string, ...handlers: ((seen: string[]) => RequestHandler)[]): [string[], unknown] {
  const seen: string[] = [];
  let passed: unknown = 'not called';
  inOrder(...handlers.map((handler) => handler(seen)))(
    { url } as unknown as Request,
    RES,
    (error?: unknown) => (passed = error),
  );
  return [seen, passed];
}

const named =
  (name: string, proceed: (next: NextFunction) => void) =>
  (seen: string[]): RequestHandler =>
  (_req, _res, next) => {
    seen.push(name);
    proceed(next);
  };
const open = (name: string) => named(name, (next) => next());

it('calls each handler once, in order, and then the next layer', () => {
  expect(run('/', open('a'), open('b'), open('c'))).toEqual([['a', 'b', 'c'], undefined]);
});

it('runs the later checks after a router that ended with null', () => {
  expect(
    run(
      '/',
      named('a', (next) => next(null)),
      open('guard'),
    ),
  ).toEqual([['a', 'guard'], undefined]);
});

it('stops at an answer, and passes an error to the next layer', () => {
  expect(
    run(
      '/',
      open('a'),
      named('b', () => undefined),
      open('c'),
    ),
  ).toEqual([['a', 'b'], 'not called']);
  const error = new Error('broken');
  expect(
    run(
      '/',
      named('a', (next) => next(error)),
      open('b'),
    ),
  ).toEqual([['a'], error]);
});
