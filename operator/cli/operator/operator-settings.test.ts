import { describe, expect, it } from 'vitest';
import { isOpenShift, readOperatorSettings, type OperatorSettings } from './operator-settings.ts';

const IMAGE = { GATEWAY_IMAGE: 'registry.example.com/vmcp-gateway:1' };
function settingsOf(env: Record<string, string>, namespace?: string): OperatorSettings {
  const read = readOperatorSettings({ ...IMAGE, ...env }, namespace);
  if ('problems' in read) throw new Error(read.problems.join('\n'));
  return read.settings;
}
const problemsOf = (env: Record<string, string>, namespace?: string): readonly string[] => {
  const read = readOperatorSettings(env, namespace);
  return 'problems' in read ? read.problems : [];
};

describe('readOperatorSettings', () => {
  it('needs only the image of the gateways', () => {
    expect(settingsOf({})).toEqual({
      namespaces: 'all',
      render: {
        gatewayImage: IMAGE.GATEWAY_IMAGE,
        imagePullPolicy: 'IfNotPresent',
        imagePullSecrets: [],
        podDisruptionBudgets: false,
        networkPolicies: false,
      },
      lease: 'vmcp-operator',
      logLevel: 'info',
    });
  });

  it('reads every variable that the chart sets', () => {
    const env = {
      IMAGE_PULL_POLICY: 'Always',
      DEFAULT_IMAGE_PULL_SECRETS: 'b, a,,b',
      DEFAULT_TRUSTED_PROXIES: '10.0.0.0/8, fd00::/8',
      POD_NAMESPACE: 'vmcp-system',
      POD_NAME: 'vmcp-operator-0',
      LEASE_NAME: 'team-a-operator',
      POD_SERVICE_ACCOUNT: 'vmcp-operator',
      POD_DISRUPTION_BUDGETS: 'true',
      NETWORK_POLICIES: 'True',
      OPENSHIFT: 'false',
      LOG_LEVEL: 'debug',
    };
    expect(settingsOf(env)).toMatchObject({
      render: {
        imagePullPolicy: 'Always',
        imagePullSecrets: ['b', 'a'],
        trustedProxies: ['10.0.0.0/8', 'fd00::/8'],
        podDisruptionBudgets: true,
        networkPolicies: true,
        operatorAccount: { namespace: 'vmcp-system', name: 'vmcp-operator' },
      },
      openshift: false,
      podNamespace: 'vmcp-system',
      podName: 'vmcp-operator-0',
      lease: 'team-a-operator',
      logLevel: 'debug',
    });
  });

  it.each<[string | undefined, string, OperatorSettings['namespaces']]>([
    [undefined, '', 'all'],
    [undefined, 'team-b, team-a', ['team-a', 'team-b']],
    ['all', 'team-a', 'all'],
    ['team-c', 'team-a', ['team-c']],
  ])('--namespace %s with WATCH_NAMESPACE "%s"', (flag, fallback, expected) => {
    expect(settingsOf({ WATCH_NAMESPACE: fallback }, flag).namespaces).toEqual(expected);
  });

  it('reports all problems, each with advice', () => {
    const env = { IMAGE_PULL_POLICY: 'sometimes', POD_DISRUPTION_BUDGETS: 'yes', LOG_LEVEL: 'loud' };
    expect(problemsOf(env, 'Team')).toEqual([
      'GATEWAY_IMAGE is not set: set it to the image of the gateways',
      'IMAGE_PULL_POLICY is "sometimes": set it to Always, IfNotPresent, Never or nothing',
      '--namespace: "Team" is not a valid namespace name: correct it',
      'POD_DISRUPTION_BUDGETS is "yes": set it to true, false or nothing',
      'LOG_LEVEL is "loud": set it to debug, info, warn, error or nothing',
    ]);
    expect(problemsOf(IMAGE, ' , ')).toEqual([
      '--namespace is empty: list namespaces, separated by commas, or write "all"',
    ]);
  });
});

describe('isOpenShift', () => {
  it('detects the platform by its routes or its security constraints', async () => {
    const api = (...names: string[]) => ({
      getJson: () => Promise.resolve({ groups: names.map((name) => ({ name })) }),
    });
    expect(await isOpenShift(api('apps', 'route.openshift.io'))).toBe(true);
    expect(await isOpenShift(api('apps', 'security.openshift.io'))).toBe(true);
    expect(await isOpenShift(api('apps'))).toBe(false);
    expect(await isOpenShift({ getJson: () => Promise.resolve({}) })).toBe(false);
  });
});
