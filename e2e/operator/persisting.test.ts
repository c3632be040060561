import { beforeAll, expect, it } from 'vitest';
import type { ClusterApi, KubeManifest } from '../harness/control-plane/api.ts';
import { entry, group, secret, virtualServer } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { blockScope } from '../harness/scope.ts';
import { ownControlPlane, untilForbidden, untilRefused } from './access.ts';
import { startOperator, type Operator } from './operator-process.ts';
import { placeOf, Playground } from './playground.ts';
import { everySort, headerAuth, httpServer, REMOTE } from './resources.ts';

const SCOPE = ['operator.rbac.scope=namespace', 'operator.rbac.allowedNamespaces={one,two}'];
const IN_USE = 'vmcp.dev/in-use';
const scope = blockScope();
let api: ClusterApi;
let operator: Operator;
let username: string;
let one: Playground;
let two: Playground;

beforeAll(async () => {
  const { plane, api: admin, access } = await ownControlPlane(scope, { values: SCOPE, namespaces: ['one', 'two'] });
  api = admin;
  username = access.username;
  [one, two] = [new Playground(api, 'one'), new Playground(api, 'two')];
  await one.create(group('served'));
  await one.patch('MCPGroup', 'served', { metadata: { finalizers: [IN_USE, 'example.com/other'] } });
  operator = await startOperator(scope, plane, access, { watch: 'one,two' });
});

const httpDeployment = (name: string): KubeManifest => {
  const labels = { app: name };
  const containers = [{ name, image: 'registry.example.com/probe:1' }];
  const spec = { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } };
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name }, spec };
};

it('in scope namespace sets no finalizers, removes existing ones, and allows the deletion of a namespace', async () => {
  await one.create(virtualServer({}, { name: 'tools', groupName: 'served' }), ...everySort());
  await one.becomes('VirtualMCPServer', 'tools', { type: 'Applied', status: 'True' });
  await one.becomes('VirtualMCPServer', 'all', { type: 'AuthConfigured', status: 'True' });
  const others = ({ metadata }: { metadata: { readonly finalizers?: readonly string[] } }) =>
    JSON.stringify(metadata.finalizers) === '["example.com/other"]';
  await one.appears('MCPGroup', 'served', others);
  for (const kind of ['MCPGroup', 'MCPOIDCConfig', 'MCPExternalAuthConfig']) {
    for (const { metadata } of await one.list(kind)) expect(metadata.finalizers ?? []).not.toContain(IN_USE);
  }
  await one.patch('MCPGroup', 'served', { metadata: { finalizers: null } });
  await api.remove(placeOf('Namespace', undefined, 'one'));
  await eventually('the namespace is deleted', async () => !(await api.get(placeOf('Namespace', undefined, 'one'))));
});

it('reports a webhook that does not answer, and recovers', async () => {
  const path = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
  const { status } = await api.send('POST', path, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'dead' },
    webhooks: [
      {
        name: 'dead.example.com',
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        failurePolicy: 'Fail',
        clientConfig: { url: 'https://127.0.0.1:1/x' },
        rules: [{ apiGroups: ['apps'], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['*'] }],
      },
    ],
  });
  expect(status).toBe(201);
  await untilRefused(two, httpDeployment('probe'), 'dead.example.com');
  await two.create(httpServer('web', { groupRef: undefined }));
  const failed = { type: 'Applied', status: 'False', reason: 'ApplyFailed' };
  const { message } = await two.becomes('MCPServer', 'web', failed);
  expect(message).toContain('dead.example.com');
  await eventually('an event reports it', async () =>
    (await two.list('Event')).some((event) => event['reason'] === 'ApplyFailed'),
  );
  await api.send('DELETE', `${path}/dead`);
  await two.appears('Deployment', 'mcp-web', () => true, 60_000);
  await two.becomes('MCPServer', 'web', { type: 'Applied', status: 'True' });
});

it('reports a Secret that it may not read, and recovers', async () => {
  await two.create(secret('key', { value: 'x' }), headerAuth('auth', 'key'), group());
  await two.becomes('MCPExternalAuthConfig', 'auth', { type: 'Valid', status: 'True' });
  const [role] = (await two.list('Role')).filter(({ metadata }) => metadata.name.includes('operator'));
  if (!role) throw new Error('the chart has no Role for the operator in the namespace');
  const rules = role['rules'] as { resources: string[]; verbs: string[] }[];
  const without = rules.map((rule) =>
    rule.resources.includes('secrets') ? { ...rule, verbs: rule.verbs.filter((verb) => verb !== 'get') } : rule,
  );
  await two.patch('Role', role.metadata.name, { rules: without });
  await untilForbidden(api, username, { namespace: 'two', verb: 'get', resource: 'secrets' });
  await two.create(secret('late', { value: 'x' }), headerAuth('late-auth', 'late'));
  await two.create(entry('remote', REMOTE, 'streamable-http', { externalAuthConfigRef: { name: 'late-auth' } }));
  const failed = { type: 'Applied', status: 'False', reason: 'ApplyFailed' };
  const { message } = await two.becomes('MCPServerEntry', 'remote', failed);
  expect(message).toContain('secrets "late" is forbidden');
  await two.patch('Role', role.metadata.name, { rules });
  const valid = { type: 'ExternalAuthConfigValidated', status: 'True' };
  await two.becomes('MCPServerEntry', 'remote', valid, 60_000);
  await expect.poll(() => two.condition('MCPServerEntry', 'remote', 'Applied')).toBeUndefined();
});

it('does not count an exceeded quota as an error of the operator', async () => {
  const errors = await operator.metric('reconcile_errors_total', 'controller="VirtualMCPServer"');
  const spec = { hard: { services: '0' } };
  await two.create({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'none' }, spec });
  await untilRefused(
    two,
    { apiVersion: 'v1', kind: 'Service', metadata: { name: 'probe' }, spec: { ports: [{ port: 80 }] } },
    'exceeded quota',
  );
  await two.create(virtualServer({}, { name: 'poor' }));
  await two.becomes('VirtualMCPServer', 'poor', { type: 'Applied', status: 'False', reason: 'QuotaExceeded' });
  const labels = 'controller="VirtualMCPServer",result="refused"';
  await expect.poll(() => operator.metric('reconcile_total', labels)).toBeGreaterThan(0);
  expect(await operator.metric('reconcile_errors_total', 'controller="VirtualMCPServer"')).toBe(errors);
});
