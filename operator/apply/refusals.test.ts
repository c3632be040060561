import { describe, expect, it } from 'vitest';
import { ApiError } from '../../gateway/kube/client.ts';
import { isCausedByPatch } from './refusals.ts';

const WORKLOAD = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { namespace: 'team', name: 'mcp-web' },
  spec: {
    template: {
      metadata: { labels: { 'a b': 'c' } },
      spec: {
        containers: [
          {
            name: 'mcp',
            image: 'a:1',
            args: ['x'],
            resources: { limits: { memory: '1Mi' }, requests: { memory: '2Mi' } },
          },
          { name: 'side' },
        ],
        volumes: [{ name: 'My_Vol', hostPath: { path: '/a' } }],
      },
    },
  },
};
const error = (...fields: string[]): ApiError =>
  new ApiError({ status: 422, reason: 'Invalid', message: 'bad', fields });
const REQUESTS = 'spec.template.spec.containers[0].resources.requests';
const VOLUME = 'spec.template.spec.volumes[0].name';
const user = { spec: { securityContext: { runAsUser: 1000 } } };
const container = (name: string, members: object): object => ({ spec: { containers: [{ name, ...members }] } });

describe('isCausedByPatch', () => {
  it.each<[string, ApiError, object, boolean]>([
    ['a field that it does not set', error(REQUESTS, VOLUME), user, false],
    ['a field beside one that it sets', error(REQUESTS), container('mcp', { resources: { limits: {} } }), true],
    ['a field of another container', error(REQUESTS), container('side', { resources: { limits: {} } }), false],
    [
      'another field of the same item',
      error('spec.template.spec.containers[0].image'),
      container('mcp', { tty: true }),
      false,
    ],
    ['a field that is missing', error('spec.template.spec.containers[1].image'), container('side', {}), true],
    ['one of several fields', error(VOLUME, REQUESTS), { spec: { volumes: [{ name: 'My_Vol' }] } }, true],
    ['an item of another name', error(VOLUME), { spec: { volumes: [{ name: 'other' }] } }, false],
    [
      'a list that it replaces',
      error('spec.template.spec.containers[0].args[0]'),
      container('mcp', { args: ['x'] }),
      true,
    ],
    ['labels', error('spec.template.labels'), { metadata: { labels: { x: 'y' } } }, true],
    ['labels of the spec', error('spec.template.labels'), user, false],
    ['anything when it removes something', error(REQUESTS), container('mcp', { lifecycle: null }), true],
    ['anything with a directive', error(REQUESTS), { spec: { $retainKeys: [] } }, true],
    ['an error without fields', error(), user, true],
  ])('%s: %#', (_, rejection, patch, expected) => {
    expect(isCausedByPatch(rejection, WORKLOAD, patch)).toBe(expected);
  });
});
