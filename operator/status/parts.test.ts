import { describe, expect, it } from 'vitest';
import type { ObjectProblem } from '../resolve/problems.ts';
import { cut, problemsMessage, problemText } from './message.ts';
import { eventsOf, settle } from './conditions.ts';
import { fails, holds, isOpen, warns } from './claim.ts';
import { rolloutOf } from './rollout.ts';
import { sameStatus } from './same-status.ts';
import { live, NOW, pod, statusFor, waiting, workload } from './testdata/world.ts';
import { VMCP_CASES } from './testdata/cases.ts';

const self = { kind: 'MCPServer', name: 'files' };
const problem = (rest: Partial<ObjectProblem> = {}): ObjectProblem => ({
  kind: 'MCPServer',
  namespace: 'team',
  name: 'files',
  path: 'spec.image',
  reason: 'InvalidValue',
  message: 'wrong: correct it',
  ...rest,
});

describe('messages', () => {
  it('begin with the path, and name the object where it is another one', () => {
    expect(problemText(problem(), self)).toBe('spec.image: wrong: correct it [InvalidValue]');
    expect(problemText(problem({ name: 'other' }), self)).toBe(
      'MCPServer/other: spec.image: wrong: correct it [InvalidValue]',
    );
    expect(problemText(problem({ path: '' }), self)).toBe('wrong: correct it [InvalidValue]');
  });

  it('say the first twenty problems and how many more there are', () => {
    const many = Array.from({ length: 25 }, (_, i) => problem({ path: `spec.p${String(i).padStart(2, '0')}` }));
    const message = problemsMessage(many.toReversed(), self);
    expect(message.split('; ')).toHaveLength(21);
    expect(message).toMatch(/^spec\.p00: .*; and 5 more$/u);
  });

  it('fit into a condition, whatever characters they hold', () => {
    const long = problemsMessage([problem({ message: '€'.repeat(20_000) })], self);
    expect(new TextEncoder().encode(long).length).toBeLessThanOrEqual(32_768);
    expect(long).toMatch(/€…$/u);
    expect(cut('short')).toBe('short');
  });
});

const condition = (type: string, status: string) => ({
  type,
  status,
  reason: 'Old',
  message: '',
  lastTransitionTime: 'then',
  observedGeneration: 1,
});
const object = live(
  'MCPServer',
  'files',
  { image: 'a' },
  { status: { conditions: [condition('A', 'True'), condition('B', 'False'), condition('C', 'True')] } },
);

describe('settle', () => {
  it('keeps the time of what has not changed its status, and always says the generation', () => {
    const claims = [holds('B', 'Good', ''), holds('A', 'New', 'other'), fails('C', 'Bad', ''), holds('D', 'Good', '')];
    expect(settle(object, claims, NOW)).toEqual([
      { type: 'A', status: 'True', reason: 'New', message: 'other', lastTransitionTime: 'then', observedGeneration: 3 },
      { type: 'B', status: 'True', reason: 'Good', message: '', lastTransitionTime: NOW, observedGeneration: 3 },
      { type: 'C', status: 'False', reason: 'Bad', message: '', lastTransitionTime: NOW, observedGeneration: 3 },
      { type: 'D', status: 'True', reason: 'Good', message: '', lastTransitionTime: NOW, observedGeneration: 3 },
    ]);
  });
});

describe('events', () => {
  it.each([
    ['what goes wrong', fails('A', 'Bad', 'm'), [{ type: 'Warning', reason: 'Bad', message: 'm' }]],
    ['what is wrong from the start', fails('Z', 'Bad', 'm'), [{ type: 'Warning', reason: 'Bad', message: 'm' }]],
    ['what gets right', holds('B', 'Good', 'm'), [{ type: 'Normal', reason: 'Good', message: 'm' }]],
    ['what is right from the start', holds('Z', 'Good', 'm'), []],
    [
      'what serves for the first time',
      holds('Ready', 'Ready', 'm'),
      [{ type: 'Normal', reason: 'Ready', message: 'm' }],
    ],
    ['what stays wrong for another reason', fails('B', 'Worse', 'm'), []],
    ['what nobody knows', isOpen('A', 'Unknown', 'm'), []],
    ['a warning that begins', warns('B', 'Careful', 'm'), [{ type: 'Warning', reason: 'Careful', message: 'm' }]],
    [
      'a deletion that waits',
      warns('DeletionBlocked', 'X', 'm'),
      [{ type: 'Warning', reason: 'DeletionBlocked', message: 'm' }],
    ],
  ])('%s', (_, claim, events) => {
    expect(eventsOf(object, [claim])).toEqual(events);
  });

  it('of configs have words of their own', () => {
    const config = live(
      'MCPOIDCConfig',
      'own',
      { type: 'kubernetes' },
      { status: { conditions: [condition('Valid', 'False')] } },
    );
    expect(eventsOf(config, [holds('Valid', 'X', 'm')])).toMatchObject([{ reason: 'ConfigValid' }]);
  });
});

describe('rolloutOf', () => {
  const failure = (...pods: Parameters<typeof rolloutOf>[1] & object) => rolloutOf(workload(0), pods).failure;

  it.each([
    [waiting('mcp', 'ErrImagePull', 'attempt 1'), 'ImagePullBackOff', 'container mcp: its image cannot be pulled'],
    [waiting('mcp', 'ImagePullBackOff', 'attempt 2'), 'ImagePullBackOff', 'container mcp: its image cannot be pulled'],
    [waiting('mcp', 'InvalidImageName', 'no such form'), 'InvalidImageName', 'container mcp: no such form'],
    [
      waiting('mcp', 'CreateContainerConfigError', 'no Secret'),
      'CreateContainerConfigError',
      'container mcp: no Secret',
    ],
    [waiting('mcp', 'CrashLoopBackOff', 'in 5m'), 'CrashLoopBackOff', 'container mcp ends again and again'],
    [
      pod({ containerStatuses: [{ name: 'mcp', state: { terminated: { exitCode: 2 } } }] }),
      'CrashLoopBackOff',
      'container mcp ended with exit code 2',
    ],
    [
      pod({
        initContainerStatuses: [
          {
            name: 'init',
            state: { waiting: { reason: 'CrashLoopBackOff' } },
            lastState: { terminated: { exitCode: 1 } },
          },
        ],
      }),
      'CrashLoopBackOff',
      'container init ended with exit code 1',
    ],
  ])('a pod fails: %#', (each, reason, message) => {
    expect(failure(each)).toEqual({ reason, message });
  });

  it.each([
    waiting('mcp', 'ContainerCreating'),
    pod({ containerStatuses: [{ name: 'mcp', state: { terminated: { exitCode: 0 } } }] }),
    pod({ containerStatuses: [{ name: 'mcp', ready: true }] }),
    pod({}),
  ])('a pod does not: %#', (each) => {
    expect(failure(each)).toBeUndefined();
  });

  it('counts pods that fail alike', () => {
    const one = waiting('mcp', 'ImagePullBackOff');
    expect(failure(one, one)?.message).toBe('container mcp: its image cannot be pulled (2 pods)');
  });

  it('says why pods are not even made', () => {
    const conditions = [
      { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'serviceaccount "x" not found' },
    ];
    expect(rolloutOf(workload(0, 1, conditions)).failure).toEqual({
      reason: 'FailedCreate',
      message: 'serviceaccount "x" not found',
    });
  });

  it('takes what the API server fills in for granted', () => {
    expect(rolloutOf({ ...workload(0), spec: {}, status: {} })).toEqual({ desired: 1, ready: 0 });
  });
});

describe('sameStatus', () => {
  const input = VMCP_CASES['serving'];
  if (!input) throw new Error('no such case');
  const { status } = statusFor(input);

  it('ignores what gateways write, and the order of members and conditions', () => {
    const conditions = (status['conditions'] as object[]).toReversed();
    const back = Object.fromEntries(
      Object.entries({ ...status, conditions, backendCount: 4, runtimeProblems: [] }).toReversed(),
    );
    expect(sameStatus(back, status)).toBe(true);
  });

  it.each([
    ['phase', 'Failed'],
    ['url', undefined],
    ['extra', 1],
    ['conditions', []],
  ])('sees another %s', (member, value) => {
    expect(sameStatus({ ...status, [member]: value }, status)).toBe(false);
  });

  it('sees that nothing was written yet', () => {
    expect(sameStatus(undefined, status)).toBe(false);
  });
});

describe('digests', () => {
  it('stay those of the pods that go on while the spec is wrong', () => {
    const object = live(
      'VirtualMCPServer',
      'desk',
      { groupRef: { name: 'none' }, incomingAuth: { type: 'anonymous' } },
      { status: { oidcConfigHash: 'old', secretHash: 's' } },
    );
    expect(statusFor({ objects: [object] }).status).toMatchObject({ oidcConfigHash: 'old', secretHash: 's' });
  });

  it('change when the Secret does', () => {
    const input = VMCP_CASES['authorization server'];
    if (!input) throw new Error('no such case');
    const { secretHash } = statusFor(input).status;
    expect(secretHash).toMatch(/^[0-9a-f]{32}$/u);
  });
});
