import { expect, it } from 'vitest';
import { failureOf } from './api-failure.ts';
import { annotationsToApply, fieldsToApply, keptByOthers } from './edit-object.ts';
import { ApiError } from '../../../kube/api-error.ts';
import type { DesiredWorkload, ManagedFields, WorkloadObject } from './workload-object.ts';

const desired = (spec: object): DesiredWorkload => ({ kind: 'MCPServer', spec: { image: 'a', ...spec } });
const objectOwnedBy = (...managedFields: ManagedFields[]): WorkloadObject =>
  ({ kind: 'MCPServer', metadata: { name: 'time', namespace: 'team', managedFields } }) as never;

const OURS = { manager: 'vmcp-management', operation: 'Apply' } as const;
const before = desired({ args: ['a'], env: [{ name: 'A', value: 'b' }] });

it.each<[string, ManagedFields[], object]>([
  ['changes only', [], { args: ['b'] }],
  [
    'changes and its own fields',
    [{ ...OURS, fieldsV1: { 'f:spec': { 'f:env': {} } } }],
    { args: ['b'], env: [{ name: 'A', value: 'b' }] },
  ],
  [
    'no fields of other managers',
    [{ manager: 'kubectl', operation: 'Apply', fieldsV1: { 'f:spec': { 'f:env': {} } } }],
    { args: ['b'] },
  ],
  ['no fields of a stop', [{ ...OURS, operation: 'Update', fieldsV1: { 'f:spec': { 'f:env': {} } } }], { args: ['b'] }],
  [
    'no fields of a status',
    [{ ...OURS, subresource: 'status', fieldsV1: { 'f:spec': { 'f:env': {} } } }],
    { args: ['b'] },
  ],
])('an edit applies %s', (_name, managed, expected) => {
  const after = desired({ args: ['b'], env: [{ name: 'A', value: 'b' }] });
  expect(fieldsToApply(objectOwnedBy(...managed), before, after)).toEqual(expected);
});

it('an edit leaves out what it removes', () => {
  const own = { ...OURS, fieldsV1: { 'f:spec': { 'f:image': {}, 'f:args': {}, 'f:env': {} } } };
  expect(fieldsToApply(objectOwnedBy(own), before, desired({ args: ['a'] }))).toEqual({ image: 'a', args: ['a'] });
});

it('an edit applies annotations that change, and its own', () => {
  const own = { ...OURS, fieldsV1: { 'f:metadata': { 'f:annotations': { 'f:example.org/own': {} } } } };
  const annotations = { 'example.org/own': 'a', 'example.org/other': 'b', 'example.org/old': 'c' };
  const after = { ...desired({}), annotations: { ...annotations, 'example.org/old': 'd' } };
  const expected = { 'example.org/own': 'a', 'example.org/old': 'd' };
  expect(annotationsToApply(objectOwnedBy(own), { ...desired({}), annotations }, after)).toEqual(expected);
  expect(annotationsToApply(objectOwnedBy(own), after, desired({}))).toEqual({});
});

it('lists what others have kept', () => {
  const config = { schema_version: 'v0.1.0', name: 'time', env_vars: { A: 'b' } } as const;
  expect(keptByOthers(config, { ...config, env_vars: { A: 'b', B: 'c' }, debug: true })).toEqual(['env_vars', 'debug']);
  expect(keptByOthers(config, { ...config })).toEqual([]);
});

it.each([
  [0, 'Unreachable', 'engine_unavailable'],
  [503, 'ServiceUnavailable', 'engine_unavailable'],
  [422, 'Invalid', 'invalid_workload'],
  [409, 'Conflict', 'changed_meanwhile'],
  [409, 'AlreadyExists', 'workload_exists'],
  [403, 'Forbidden', 'refused_by_policy'],
])('translates status %i with reason %s to %s', (status, reason, code) => {
  expect(failureOf(new ApiError({ status, reason, message: 'because' }))).toMatchObject({ code });
});
