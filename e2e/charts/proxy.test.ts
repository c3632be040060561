import { describe, expect, test } from 'vitest';
import { run } from '../cluster/harness/command.ts';
import { chartFolder, helm, render, template, type Rendered } from './chart.ts';

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: unknown;
}

interface Pod {
  readonly containers: readonly [{ readonly env: readonly Variable[]; readonly volumeMounts: readonly unknown[] }];
  readonly volumes: readonly unknown[];
}

/** Returns the pod of the operator or of the management API. */
function podOf(objects: readonly Rendered[], name: string): Pod {
  const [found] = objects.filter(({ kind, metadata }) => kind === 'Deployment' && metadata.name === name);
  if (!found) throw new Error(`no Deployment ${name}`);
  return (found.spec as { template: { spec: Pod } }).template.spec;
}

const PODS = ['vmcp-operator', 'vmcp-management'];
const MANAGEMENT = [
  'management.enabled=true',
  'management.namespaces={tools}',
  'management.auth.issuer=https://idp.example',
];
const PROXY = ['proxy.httpsProxy=http://proxy.corp:3128', 'proxy.httpProxy=http://proxy.corp:3129'];
const NO_PROXY = ['proxy.noProxy={.corp.example,10.0.0.0/8,registry.example:5000}'];

describe.skipIf(helm === undefined)('the values `proxy` of the chart', () => {
  test('by default add nothing', async () => {
    const objects = await render('vmcp', MANAGEMENT);
    for (const name of PODS) {
      const { containers, volumes } = podOf(objects, name);
      expect(JSON.stringify([containers, volumes])).not.toMatch(/PROXY|GATEWAY_CA|CA_CERTS|proxy-ca/u);
    }
  });

  test('pass helm lint --strict', async () => {
    const values = [...MANAGEMENT, ...PROXY, ...NO_PROXY, 'proxy.caConfigMap.name=corp-ca'];
    await run(helm ?? '', ['lint', '--strict', chartFolder('vmcp'), ...values.flatMap((value) => ['--set', value])]);
  });

  test('become variables and a mounted CA of the operator and of the management API', async () => {
    const ca = ['proxy.caConfigMap.name=corp-ca', 'proxy.caConfigMap.key=root.pem'];
    const objects = await render('vmcp', [...MANAGEMENT, ...PROXY, ...NO_PROXY, ...ca]);
    for (const name of PODS) {
      const { containers, volumes } = podOf(objects, name);
      const [{ env, volumeMounts }] = containers;
      expect(Object.fromEntries(env.map(({ name: variable, value }) => [variable, value]))).toMatchObject({
        HTTPS_PROXY: 'http://proxy.corp:3128',
        HTTP_PROXY: 'http://proxy.corp:3129',
        NO_PROXY: '.corp.example,10.0.0.0/8,registry.example:5000',
        [name === 'vmcp-operator' ? 'GATEWAY_CA_FILE' : 'NODE_EXTRA_CA_CERTS']: '/etc/vmcp/proxy-ca/root.pem',
      });
      expect(volumeMounts).toContainEqual({ name: 'proxy-ca', mountPath: '/etc/vmcp/proxy-ca', readOnly: true });
      const items = [{ key: 'root.pem', path: 'root.pem' }];
      expect(volumes).toContainEqual({ name: 'proxy-ca', configMap: { name: 'corp-ca', items } });
    }
  });

  test('name a Secret for URLs with a credential, which the operator itself does not read', async () => {
    const objects = await render('vmcp', [...MANAGEMENT, ...NO_PROXY, 'proxy.secret=corp-proxy']);
    const [operator, management] = PODS.map((name) => podOf(objects, name).containers[0].env);
    expect(operator).toContainEqual({ name: 'GATEWAY_PROXY_SECRET', value: 'corp-proxy' });
    expect(operator?.filter(({ name }) => /^HTTPS?_PROXY$/u.test(name))).toEqual([]);
    const secretKeyRef = { name: 'corp-proxy', key: 'HTTPS_PROXY' };
    expect(management).toContainEqual({ name: 'HTTPS_PROXY', valueFrom: { secretKeyRef } });
  });

  test.each([
    ['proxy.httpsProxy=http://user:secret@proxy.corp:3128', '/proxy/httpsProxy'],
    ['proxy.httpsProxy=proxy.corp', '/proxy/httpsProxy'],
    ['proxy.noProxy={a b}', '/proxy/noProxy/0'],
    ['proxy.all=http://proxy.corp', "additional properties 'all'"],
  ])('reject %s and name the field', async (value, where) => {
    const { code, stderr } = await template('vmcp', [value]);
    expect(code).not.toBe(0);
    expect(stderr).toContain(where);
  });

  test.each([
    [['proxy.secret=corp-proxy', ...PROXY], 'proxy.secret: the Secret has the URLs of the proxy'],
    [[...PROXY, 'operator.env[0].name=HTTPS_PROXY', 'operator.env[0].value=http://other'], 'operator.env: HTTPS_PROXY'],
    [[...MANAGEMENT, ...PROXY, 'management.env[0].name=HTTP_PROXY'], 'management.env: HTTP_PROXY is set by proxy'],
  ])('reject two places for one variable: %j', async (values, reason) => {
    const { code, stderr } = await template('vmcp', values);
    expect(code).not.toBe(0);
    expect(stderr).toContain(reason);
  });
});
