import { expect, it } from 'vitest';
import { ANONYMOUS } from '../../contract/identity.ts';
import { CallGate, type QueuedCall } from './call-gate.ts';

const LIMITS = { running: 4, queued: 5, runningPerPrincipal: 3, queuedPerPrincipal: 2 };

function fixture() {
  const gate = new CallGate(LIMITS);
  const admitted: string[] = [];
  const call = (name: string, onAdmitted: () => void = () => undefined): QueuedCall => ({
    admitted: () => {
      admitted.push(name);
      onAdmitted();
    },
  });
  const enter = (principal: string, name = principal): string => gate.enter(principal, call(name));
  return { gate, admitted, call, enter };
}

it('queues the calls of a principal above its share, then rejects them, while others run', () => {
  const { gate, enter } = fixture();
  expect(Array.from({ length: 6 }, () => enter('alice'))).toEqual([
    'running',
    'running',
    'running',
    'queued',
    'queued',
    'full',
  ]);
  expect(enter('bob')).toBe('running');
  expect(enter('bob')).toBe('queued');
  expect([gate.running, gate.queued]).toEqual([4, 3]);
});

it('allows anonymous clients the whole capacity and no more', () => {
  const { enter } = fixture();
  const entered = Array.from({ length: 10 }, () => enter(ANONYMOUS));
  expect(entered.filter((each) => each === 'running')).toHaveLength(4);
  expect(entered.filter((each) => each === 'queued')).toHaveLength(5);
  expect(entered.at(-1)).toBe('full');
});

it('admits waiting principals in turn, not in the order of their calls', () => {
  const { gate, admitted, enter } = fixture();
  for (let each = 0; each < 3; each += 1) enter('alice');
  enter('dora');
  enter('alice', 'alice 1');
  enter('alice', 'alice 2');
  enter('bob', 'bob 1');
  for (let each = 0; each < 3; each += 1) gate.leave('alice');
  expect(admitted).toEqual(['alice 1', 'bob 1', 'alice 2']);
});

it('removes a queued call that is withdrawn', () => {
  const { gate, admitted, call } = fixture();
  for (let each = 0; each < 4; each += 1) gate.enter(ANONYMOUS, call('running'));
  const waiting = call('withdrawn');
  gate.enter(ANONYMOUS, waiting);
  gate.enter(ANONYMOUS, call('next'));
  gate.withdraw(ANONYMOUS, waiting);
  gate.withdraw(ANONYMOUS, waiting);
  gate.leave(ANONYMOUS);
  expect(admitted).toEqual(['next']);
  expect([gate.running, gate.queued]).toEqual([4, 0]);
});

it('admits a long queue of calls that end at once without deep recursion', () => {
  const gate = new CallGate({ running: 1, queued: 100_000, runningPerPrincipal: 1, queuedPerPrincipal: 100_000 });
  let ended = 0;
  const call: QueuedCall = {
    admitted: () => {
      ended += 1;
      gate.leave('alice');
    },
  };
  gate.enter('alice', call);
  for (let each = 0; each < 50_000; each += 1)
    gate.enter('alice', {
      admitted: () => {
        call.admitted();
      },
    });
  gate.leave('alice');
  expect(ended).toBe(50_000);
  expect([gate.running, gate.queued]).toEqual([0, 0]);
});
