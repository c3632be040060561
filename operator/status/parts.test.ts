import { describe, expect, it } from 'vitest';
import type { ObjectProblem } from '../resolve/scope.ts';
import {
  cutMessage,
  problemsMessage,
  problemText,
  eventsOf,
  withTransitionTimes,
  failedCondition,
  trueCondition,
  unknownCondition,
  warningCondition,
} from './conditions.ts';
import { rolloutOf } from './pods.ts';
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
  it('begin with the path, and name the object when it is another one', () => {
    expect(problemText(problem(), self)).toBe('spec.image: wrong: correct it [InvalidValue]');
    expect(problemText(problem({ name: 'other' }), self)).toBe(
      'MCPServer/other: spec.image: wrong: correct it [InvalidValue]',
    );
    expect(problemText(problem({ path: '' }), self)).toBe('wrong: correct it [InvalidValue]');
  });

  it('list the first twenty problems and count the rest', () => {
    const many = Array.from({ length: 25 }, (_, i) => problem({ path: `spec.p${String(i).padStart(2, '0')}` }));
    const message = problemsMessage(many.toReversed(), self);
    expect(message.split('; ')).toHaveLength(21);
    expect(message).toMatch(/^spec\.p00: .*; and 5 more$/u);
  });

  it('fit into a condition with multi-byte characters', () => {
    const long = problemsMessage([problem({ message: '€'.repeat(20_000) })], self);
    expect(new TextEncoder().encode(long).length).toBeLessThanOrEqual(32_768);
    expect(long).toMatch(/€…$/u);
    expect(cutMessage('short')).toBe('short');
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

describe('withTransitionTimes', () => {
  it('keeps the time of an unchanged status and always sets the generation', () => {
    const states = [
      trueCondition('B', 'Good', ''),
      trueCondition('A', 'New', 'other'),
      failedCondition('C', 'Bad', ''),
      trueCondition('D', 'Good', ''),
    ];
    expect(withTransitionTimes(object, states, NOW)).toEqual([
      { type: 'A', status: 'True', reason: 'New', message: 'other', lastTransitionTime: 'then', observedGeneration: 3 },
      { type: 'B', status: 'True', reason: 'Good', message: '', lastTransitionTime: NOW, observedGeneration: 3 },
      { type: 'C', status: 'False', reason: 'Bad', message: '', lastTransitionTime: NOW, observedGeneration: 3 },
      { type: 'D', status: 'True', reason: 'Good', message: '', lastTransitionTime: NOW, observedGeneration: 3 },
    ]);
  });
});

describe('events', () => {
  it.each([
    [
      'a condition that becomes false',
      failedCondition('A', 'Bad', 'm'),
      [{ type: 'Warning', reason: 'Bad', message: 'm' }],
    ],
    [
      'a condition that is false from the start',
      failedCondition('Z', 'Bad', 'm'),
      [{ type: 'Warning', reason: 'Bad', message: 'm' }],
    ],
    [
      'a condition that becomes true',
      trueCondition('B', 'Good', 'm'),
      [{ type: 'Normal', reason: 'Good', message: 'm' }],
    ],
    ['nothing for a condition that is true from the start', trueCondition('Z', 'Good', 'm'), []],
    [
      'Ready that is true for the first time',
      trueCondition('Ready', 'Ready', 'm'),
      [{ type: 'Normal', reason: 'Ready', message: 'm' }],
    ],
    ['nothing for another reason of a false condition', failedCondition('B', 'Worse', 'm'), []],
    ['nothing for an unknown condition', unknownCondition('A', 'Unknown', 'm'), []],
    [
      'a warning that begins',
      warningCondition('B', 'Careful', 'm'),
      [{ type: 'Warning', reason: 'Careful', message: 'm' }],
    ],
    [
      'a blocked deletion',
      warningCondition('DeletionBlocked', 'X', 'm'),
      [{ type: 'Warning', reason: 'DeletionBlocked', message: 'm' }],
    ],
  ])('report %s', (_, condition, events) => {
    expect(eventsOf(object, [condition])).toEqual(events);
  });

  it('of config kinds have their own reasons', () => {
    const config = live(
      'MCPOIDCConfig',
      'own',
      { type: 'kubernetes' },
      { status: { conditions: [condition('Valid', 'False')] } },
    );
    expect(eventsOf(config, [trueCondition('Valid', 'X', 'm')])).toMatchObject([{ reason: 'ConfigValid' }]);
  });
});

describe('rolloutOf', () => {
  const failure = (...pods: Parameters<typeof rolloutOf>[1] & object) => rolloutOf(workload(0), pods).failure;

  it.each([
    [waiting('mcp', 'ErrImagePull', 'attempt 1'), 'ImagePullBackOff', 'container mcp: the image cannot be pulled'],
    [waiting('mcp', 'ImagePullBackOff', 'attempt 2'), 'ImagePullBackOff', 'container mcp: the image cannot be pulled'],
    [waiting('mcp', 'InvalidImageName', 'no such form'), 'InvalidImageName', 'container mcp: no such form'],
    [
      waiting('mcp', 'CreateContainerConfigError', 'no Secret'),
      'CreateContainerConfigError',
      'container mcp: no Secret',
    ],
    [waiting('mcp', 'CrashLoopBackOff', 'in 5m'), 'CrashLoopBackOff', 'container mcp keeps exiting'],
    [
      pod({ containerStatuses: [{ name: 'mcp', state: { terminated: { exitCode: 2 } } }] }),
      'CrashLoopBackOff',
      'container mcp exited with code 2',
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
      'container init exited with code 1',
    ],
  ])('reports a failing pod: %#', (each, reason, message) => {
    expect(failure(each)).toEqual({ reason, message });
  });

  it.each([
    waiting('mcp', 'ContainerCreating'),
    pod({ containerStatuses: [{ name: 'mcp', state: { terminated: { exitCode: 0 } } }] }),
    pod({ containerStatuses: [{ name: 'mcp', ready: true }] }),
    pod({}),
  ])('reports no failure: %#', (each) => {
    expect(failure(each)).toBeUndefined();
  });

  it.each([
    [waiting('mcp', 'InvalidImageName', 'no such form'), true],
    [waiting('mcp', 'CreateContainerConfigError', 'container has runAsNonRoot and image will run as root'), true],
    [waiting('mcp', 'CreateContainerConfigError', 'secret "keys" not found'), false],
    [waiting('mcp', 'ImagePullBackOff'), false],
  ])('is stalled by a failure that only an edit can solve: %#', (each, isStalled) => {
    expect(rolloutOf(workload(0), [each]).stalled !== undefined).toBe(isStalled);
  });

  it('counts pods with the same failure', () => {
    const one = waiting('mcp', 'ImagePullBackOff');
    expect(failure(one, one)?.message).toBe('container mcp: the image cannot be pulled (2 pods)');
  });

  it('reports why pods cannot be created', () => {
    const conditions = [
      { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'serviceaccount "x" not found' },
    ];
    expect(rolloutOf(workload(0, 1, conditions)).failure).toEqual({
      reason: 'FailedCreate',
      message: 'serviceaccount "x" not found',
    });
  });

  it('uses the defaults of the API server for missing fields', () => {
    expect(rolloutOf({ ...workload(0), spec: {}, status: {} })).toEqual({
      desired: 1,
      ready: 0,
      replicas: 0,
      isComplete: false,
    });
  });
});

describe('sameStatus', () => {
  const input = VMCP_CASES['serving'];
  if (!input) throw new Error('no such case');
  const { status } = statusFor(input);

  it('ignores the members of gateways and the order of members and conditions', () => {
    const conditions = (status['conditions'] as object[]).toReversed();
    const back = Object.fromEntries(
      Object.entries({ ...status, conditions, backendCount: 4, runtimeProblems: [] }).toReversed(),
    );
    expect(sameStatus(back, status)).toBe(true);
  });

  it('writes the number of pods only with other members', () => {
    expect(sameStatus({ ...status, replicas: 7 }, status)).toBe(true);
  });

  it.each([
    ['phase', 'Failed'],
    ['url', undefined],
    ['extra', 1],
    ['conditions', []],
  ])('detects another %s', (member, value) => {
    expect(sameStatus({ ...status, [member]: value }, status)).toBe(false);
  });

  it('detects that no status was written yet', () => {
    expect(sameStatus(undefined, status)).toBe(false);
  });
});

describe('digests', () => {
  it('stay the same while the spec is invalid', () => {
    const object = live(
      'VirtualMCPServer',
      'desk',
      { groupRef: { name: 'none' }, incomingAuth: { type: 'anonymous' } },
      { status: { oidcConfigHash: 'old', secretHash: 's' } },
    );
    expect(statusFor({ objects: [object] }).status).toMatchObject({ oidcConfigHash: 'old', secretHash: 's' });
  });

  it('include a hash of the Secret', () => {
    const input = VMCP_CASES['authorization server'];
    if (!input) throw new Error('no such case');
    const { secretHash } = statusFor(input).status;
    expect(secretHash).toMatch(/^[0-9a-f]{32}$/u);
  });
});

describe('ScaledBack', () => {
  const input = VMCP_CASES['authorization server that an autoscaler has scaled'];
  const [object] = input?.objects ?? [];
  if (!input || !object) throw new Error('no such case');
  const typesAfter = (generation: number): string[] => {
    const { status } = statusFor(input);
    const changed = { ...object, metadata: { ...object.metadata, generation }, status };
    const later = { ...input, objects: [changed, ...input.objects.slice(1)], observed: { problems: [] } };
    return (statusFor(later).status['conditions'] as { type: string }[]).map(({ type }) => type);
  };

  it('stays until the next edit', () => {
    expect(typesAfter(3)).toContain('ScaledBack');
    expect(typesAfter(4)).not.toContain('ScaledBack');
  });
});
