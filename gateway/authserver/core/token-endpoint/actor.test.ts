import { describe, expect, it } from 'vitest';
import { mayAct, readActor, withActor, type Actor } from './delegated-access.ts';

const chain = (depth: number): Actor => ({ sub: `a${String(depth)}`, ...(depth > 1 && { act: chain(depth - 1) }) });

describe('an act claim', () => {
  it('keeps the members that identify an actor', () => {
    expect(readActor({ sub: 'a', iss: 'i', exp: 1, act: { sub: 'b', x: 1 } })).toEqual({
      ok: true,
      value: { sub: 'a', iss: 'i', act: { sub: 'b' } },
    });
    expect(readActor(undefined)).toEqual({ ok: true, value: undefined });
  });

  it.each([null, 'a', [], {}, { sub: '' }, { sub: 1 }, { sub: 'a', iss: 1 }, { sub: 'a', act: 'b' }])(
    'is rejected: %j',
    (claim) => {
      expect(readActor(claim)).toEqual({ ok: false, reason: 'exchange_subject' });
    },
  );

  it('has at most ten levels', () => {
    expect(readActor(chain(10)).ok).toBe(true);
    expect(readActor(chain(11))).toEqual({ ok: false, reason: 'exchange_depth' });
    expect(withActor({ sub: 'x' }, chain(9)).ok).toBe(true);
    expect(withActor({ sub: 'x' }, chain(10))).toEqual({ ok: false, reason: 'exchange_depth' });
  });
});

it.each<[unknown, boolean]>([
  [undefined, true],
  [{ sub: 'agent' }, true],
  [{ sub: 'agent', iss: 'https://idp.example' }, true],
  [{ sub: 'agent', iss: 'https://other.example' }, false],
  [{ sub: 'other' }, false],
  [{}, false],
  ['agent', false],
  [null, false],
])('may_act %j allows the actor: %s', (claim, allowed) => {
  expect(mayAct(claim, { sub: 'agent', iss: 'https://idp.example' })).toBe(allowed);
});
