import { describe, expect, it } from 'vitest';
import { STRATEGIES } from './index.ts';
import { unauthenticated } from './unauthenticated.ts';

describe('the strategies', () => {
  it('are offered under one name each, and only unauthenticated acts so far', () => {
    expect(STRATEGIES.map(({ type, supported }) => [type, supported])).toEqual([
      ['unauthenticated', true],
      ['upstreamInject', false],
      ['tokenExchange', false],
      ['headerInjection', false],
    ]);
  });

  it('name a member of their own unless the type alone says everything', () => {
    expect(STRATEGIES.filter(({ spec }) => spec === undefined).map(({ type }) => type)).toEqual(['unauthenticated']);
  });
});

describe('unauthenticated', () => {
  const scope = {
    upstreams: new Set<string>(),
    secretFile: () => {
      throw new Error('it has no secret');
    },
    problem: () => {
      throw new Error('nothing can be wrong with it');
    },
  };

  it('sends the headers as they are', async () => {
    const headers = new Map([['accept', 'text/event-stream']]);
    await unauthenticated.create(unauthenticated.resolve(undefined, scope), undefined)(headers);
    expect([...headers]).toEqual([['accept', 'text/event-stream']]);
  });
});
