import { describe, expect, it } from 'vitest';
import type { FailureKind } from '../transport/channel.ts';
import { createCircuit, type Circuit, type CircuitState } from './circuit.ts';

const POLICY = { enabled: true, failureThreshold: 3, timeoutMs: 10_000, isolated: false };

/** Creates a circuit and a function that runs one call through it. */
function circuitAt(policy = POLICY) {
  let now = 1_000;
  const circuit = createCircuit(policy, () => now);
  const call = (outcome: FailureKind | 'ok', principal = 'ann'): number | undefined => {
    const refusal = circuit.refuses();
    if (refusal === undefined) circuit.settled(outcome, principal);
    return refusal;
  };
  return { circuit, call, elapse: (ms: number) => (now += ms) };
}

describe('a closed circuit', () => {
  it.each<[(FailureKind | 'ok')[], CircuitState['state']]>([
    [['unavailable', 'unavailable', 'unavailable'], 'open'],
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

  it('never opens when disabled', () => {
    const { circuit, call } = circuitAt({ ...POLICY, enabled: false });
    for (let n = 0; n < 10; n += 1) expect(call('timeout')).toBeUndefined();
    expect(circuit.current.state).toBe('closed');
  });
});

/** Steps of a scenario: `principal: outcome` is a call, `outcome` alone a probe. */
type Step = FailureKind | 'ok' | `${'ann' | 'bob' | 'cy'}: ${FailureKind | 'ok'}`;

describe('failures of a single principal', () => {
  const run = (steps: readonly Step[], policy = POLICY): CircuitState['state'] => {
    const { circuit, call } = circuitAt(policy);
    for (const step of steps) {
      const [first, second] = step.split(': ') as [string, (FailureKind | 'ok')?];
      if (second === undefined) circuit.probed(first as FailureKind | 'ok');
      else call(second, first);
    }
    return circuit.current.state;
  };
  const times = (count: number, step: Step): Step[] => new Array<Step>(count).fill(step);

  it.each<[string, Step[], CircuitState['state']]>([
    ['closed: timeouts of one principal', times(50, 'ann: timeout'), 'closed'],
    ['closed: garbled replies to one principal', times(50, 'ann: garbage'), 'closed'],
    [
      'closed: timeouts of one principal between good probes',
      ['ok', 'ann: timeout', 'ok', 'ann: timeout', 'ok', 'ann: timeout', 'ok'],
      'closed',
    ],
    [
      'closed: two timeouts of one principal and a refused connection of another',
      ['ann: timeout', 'ann: timeout', 'bob: unavailable'],
      'closed',
    ],
    ['open: three timeouts of two principals', ['ann: timeout', 'ann: timeout', 'bob: timeout'], 'open'],
    ['closed: two timeouts of two principals', ['ann: timeout', 'bob: timeout'], 'closed'],
    [
      'closed: timeouts of two principals with a good call between',
      ['ann: timeout', 'ann: timeout', 'cy: ok', 'bob: timeout'],
      'closed',
    ],
    ['open: timeouts of one principal, then a failed probe', [...times(3, 'ann: timeout'), 'timeout'], 'open'],
    [
      'closed: too few timeouts of one principal, then a failed probe',
      [...times(2, 'ann: timeout'), 'timeout'],
      'closed',
    ],
    ['open: a failed probe, then timeouts of one principal', ['unavailable', ...times(3, 'ann: timeout')], 'open'],
    ['closed: a failed probe and a good one, then timeouts', ['timeout', 'ok', ...times(50, 'ann: timeout')], 'closed'],
    [
      'closed: probes that only lack a user’s login, then timeouts',
      ['unauthenticated', ...times(50, 'ann: timeout')],
      'closed',
    ],
    ['closed: cancelled probes, then timeouts', ['cancelled', ...times(50, 'ann: timeout')], 'closed'],
    ['closed: failed probes alone', times(50, 'timeout'), 'closed'],
    ['open: refused connections of one principal', times(3, 'ann: unavailable'), 'open'],
  ])('leave the circuit %s', (_, steps, state) => {
    expect(run(steps)).toBe(state);
  });

  it('do not open the circuit when only the process of that principal ends', () => {
    const isolated = { ...POLICY, isolated: true };
    expect(run(times(50, 'ann: unavailable'), isolated)).toBe('closed');
    expect(run(['ann: unavailable', 'ann: unavailable', 'bob: unavailable'], isolated)).toBe('open');
    expect(run([...times(3, 'ann: unavailable'), 'unavailable'], isolated)).toBe('open');
  });

  it('do not keep the circuit open: after a trial that times out the next call is the trial', () => {
    const { circuit, call, elapse } = circuitAt();
    for (let n = 0; n < 3; n += 1) call('unavailable');
    elapse(10_000);
    for (let n = 0; n < 10; n += 1) expect(call('timeout', 'ann')).toBeUndefined();
    expect(call('ok', 'bob')).toBeUndefined();
    expect(circuit.current.state).toBe('closed');
  });

  it.each<[string, (circuit: Circuit) => void]>([
    ['the next trial, of another principal, times out too', (one) => one.refuses() ?? one.settled('timeout', 'bob')],
    ['a probe fails', (one) => one.probed('timeout')],
  ])('open the circuit again when a trial times out and %s', (_, follow) => {
    const { circuit, call, elapse } = circuitAt();
    for (let n = 0; n < 3; n += 1) call('unavailable');
    elapse(10_000);
    call('timeout', 'ann');
    follow(circuit);
    expect(circuit.current).toMatchObject({ state: 'open', changedAt: 11_000 });
    expect(call('ok', 'cy')).toBe(10);
  });
});

describe('an open circuit', () => {
  const opened = () => {
    const made = circuitAt();
    for (let n = 0; n < 3; n += 1) made.call('unavailable');
    return made;
  };

  it('rejects at once with the time to wait', () => {
    const { circuit, call, elapse } = opened();
    expect(call('ok')).toBe(10);
    elapse(9_001);
    expect(call('ok')).toBe(1);
    expect(circuit.current).toMatchObject({ state: 'open', changedAt: 1_000 });
  });

  it('admits one trial after the timeout and closes when it succeeds', () => {
    const { circuit, elapse } = opened();
    elapse(10_000);
    expect(circuit.refuses()).toBeUndefined();
    expect(circuit.current.state).toBe('half_open');
    expect(circuit.refuses()).toBe(1);
    circuit.settled('ok', 'ann');
    expect(circuit.current).toMatchObject({ state: 'closed', failures: 0, changedAt: 11_000 });
    expect(circuit.refuses()).toBeUndefined();
  });

  it('opens again when the trial fails', () => {
    const { circuit, call, elapse } = opened();
    elapse(10_000);
    expect(call('unavailable')).toBeUndefined();
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

  it('ignores calls that were admitted before it opened', () => {
    const { circuit } = opened();
    circuit.settled('ok', 'ann');
    circuit.settled('timeout', 'bob');
    expect(circuit.current).toMatchObject({ state: 'open', changedAt: 1_000 });
  });
});
