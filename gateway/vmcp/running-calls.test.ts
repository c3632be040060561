import { expect, it } from 'vitest';
import { RunningCalls, type RunningCall } from './running-calls.ts';

const callWith = (id: string): RunningCall => ({ id, place: -1, cancel: () => undefined });

it('lists the calls that were added and not deleted, in any order of deletion', () => {
  for (const order of ['abc', 'acb', 'bac', 'bca', 'cab', 'cba']) {
    const calls = new RunningCalls();
    const byId = new Map(['a', 'b', 'c'].map((id) => [id, callWith(id)]));
    for (const call of byId.values()) calls.add(call);
    const left = new Set(byId.keys());
    for (const id of order) {
      calls.delete(byId.get(id)!);
      calls.delete(byId.get(id)!);
      left.delete(id);
      expect(new Set([...calls].map((call) => call.id))).toEqual(left);
      expect(calls.size).toBe(left.size);
    }
  }
});

it('lists every call although each is deleted at its turn', () => {
  const calls = new RunningCalls();
  for (const id of ['a', 'b', 'c', 'd']) calls.add(callWith(id));
  const seen: string[] = [];
  for (const call of calls) {
    seen.push(call.id);
    calls.delete(call);
  }
  expect(seen).toEqual(['a', 'b', 'c', 'd']);
  expect(calls.size).toBe(0);
});

it('takes a call again', () => {
  const calls = new RunningCalls();
  const call = callWith('a');
  calls.add(call);
  calls.delete(call);
  calls.add(call);
  expect([...calls]).toEqual([call]);
});
