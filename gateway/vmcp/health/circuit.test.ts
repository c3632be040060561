import { describe, expect, it } from 'vitest';
import type { FailureKind } from '../transport/channel.ts';
import { createCircuit, type CircuitState } from './circuit.ts';

const POLICY = { enabled: true, failureThreshold: 3, timeoutMs: 10_000 };

/** A circuit, and a way to let one call through it. */
function circuitAt(policy = POLICY) {
  let now = 1_000;
  const circuit = createCircuit(policy, () => now);
  const call = (outcome: FailureKind | 'ok'): number | undefined => {
    const refusal = circuit.refuses();
    if (refusal === undefined) circuit.settled(outcome);
    return refusal;
  };
  return { circuit, call, elapse: (ms: number) => (now += ms) };
}

describe('a closed circuit', () => {
  it.each<[(FailureKind | 'ok')[], CircuitState['state']]>([
    [['unavailable', 'timeout', 'garbage'], 'open'],
    [['unavailable', 'unavailable'], 'closed'],
    [['unavailable', 'unavailable', 'ok', 'unavailable', 'unavailable'], 'closed'],
    [['unavailable', 'unavailable', 'cancelled', 'unavailable'], 'open'],
    [['unavailable', 'session_lost', 'unavailable', 'circuit_open', 'unavailable'], 'open'],
    [['cancelled', 'cancelled', 'cancelled', 'cancelled'], 'closed'],
    [['unauthenticated', 'unauthenticated', 'unauthenticated'], 'closed'],
    [['too_large', 'too_large', 'too_large'], 'closed'],
    [['unavailable', 'unavailable', 'unauthenticated', 'unavailable'], 'closed'],
  ])('after %j is %s', (outcomes, state) => {
    const { circuit, call } = circuitAt();
    for (const outcome of outcomes) expect(call(outcome)).toBeUndefined();
    expect(circuit.current.state).toBe(state);
  });

  it('never opens when it is off', () => {
    const { circuit, call } = circuitAt({ ...POLICY, enabled: false });
    for (let n = 0; n < 10; n += 1) expect(call('timeout')).toBeUndefined();
    expect(circuit.current.state).toBe('closed');
  });
});

describe('an open circuit', () => {
  const opened = () => {
    const made = circuitAt();
    for (let n = 0; n < 3; n += 1) made.call('unavailable');
    return made;
  };

  it('refuses at once and says how long', () => {
    const { circuit, call, elapse } = opened();
    expect(call('ok')).toBe(10);
    elapse(9_001);
    expect(call('ok')).toBe(1);
    expect(circuit.current).toMatchObject({ state: 'open', changedAt: 1_000 });
  });

  it('lets one trial through after the timeout, and closes when that is well', () => {
    const { circuit, elapse } = opened();
    elapse(10_000);
    expect(circuit.refuses()).toBeUndefined();
    expect(circuit.current.state).toBe('half_open');
    expect(circuit.refuses()).toBe(1);
    circuit.settled('ok');
    expect(circuit.current).toEqual({ state: 'closed', failures: 0, changedAt: 11_000 });
    expect(circuit.refuses()).toBeUndefined();
  });

  it('opens again when the trial fails', () => {
    const { circuit, call, elapse } = opened();
    elapse(10_000);
    expect(call('timeout')).toBeUndefined();
    expect(circuit.current).toMatchObject({ state: 'open', changedAt: 11_000 });
    expect(call('ok')).toBe(10);
  });

  it.each<FailureKind>(['cancelled', 'session_lost'])('makes the next call the trial when the trial was %s', (kind) => {
    const { circuit, call, elapse } = opened();
    elapse(10_000);
    call(kind);
    expect(call('ok')).toBeUndefined();
    expect(circuit.current.state).toBe('closed');
  });

  it('ignores calls that were let through before it opened', () => {
    const { circuit } = opened();
    circuit.settled('ok');
    circuit.settled('timeout');
    expect(circuit.current).toMatchObject({ state: 'open', changedAt: 1_000 });
  });
});
