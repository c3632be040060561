import { readFileSync } from 'node:fs';
import { LOG_LEVELS, type LogLevel } from '../../../gateway/contract/logger.ts';
import { networkFault } from '../../../gateway/contract/addresses.ts';
import { REPORTER } from '../../controller/events.ts';
import type { RenderOptions, Egress } from '../../render/index.ts';
import { readProxies, ProxyUrlError, type Proxy } from '../../../gateway/outbound/proxy/proxies.ts';
import { certificatesOf } from '../../../gateway/outbound/certificates.ts';

/** Settings from the environment of the operator's pod. */
export interface OperatorSettings {
  readonly namespaces: 'all' | readonly string[];
  /** Render options except the platform. */
  readonly render: Omit<RenderOptions, 'openshift'>;
  /** Undefined: read from the API server. */
  readonly openshift?: boolean;
  readonly podNamespace?: string;
  readonly podName?: string;
  /** Name of the Lease, which the replicas of one operator share. */
  readonly lease: string;
  readonly logLevel: LogLevel;
}

type Environment = Readonly<Record<string, string | undefined>>;

const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never'] as const;
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/u;

/** Reads the environment and returns the settings or all problems. `namespace` is the value of --namespace. */
export function readOperatorSettings(
  env: Environment,
  namespace: string | undefined,
): { readonly settings: OperatorSettings } | { readonly problems: readonly string[] } {
  const problems: string[] = [];
  const gatewayImage = env['GATEWAY_IMAGE'] ?? '';
  if (gatewayImage === '') problems.push('GATEWAY_IMAGE is not set: set it to the image of the gateways');
  const imagePullPolicy = oneOf('IMAGE_PULL_POLICY', env, PULL_POLICIES, 'IfNotPresent', problems);
  const namespaces = readNamespaces(namespace, env['WATCH_NAMESPACE'], problems);
  const openshift = readFlag('OPENSHIFT', env, problems);
  const settings: OperatorSettings = {
    namespaces,
    render: {
      gatewayImage,
      imagePullPolicy,
      imagePullSecrets: listOf(env['DEFAULT_IMAGE_PULL_SECRETS'] ?? ''),
      ...readTrustedProxies(listOf(env['DEFAULT_TRUSTED_PROXIES'] ?? ''), problems),
      podDisruptionBudgets: readFlag('POD_DISRUPTION_BUDGETS', env, problems) ?? false,
      networkPolicies: readFlag('NETWORK_POLICIES', env, problems) ?? false,
      ...given('egress', readEgress(env, problems)),
      ...operatorAccount(env),
    },
    ...(openshift !== undefined && { openshift }),
    ...given('podNamespace', env['POD_NAMESPACE']),
    ...given('podName', env['POD_NAME']),
    lease: env['LEASE_NAME'] || REPORTER,
    logLevel: oneOf('LOG_LEVEL', env, LOG_LEVELS, 'info', problems),
  };
  return problems.length > 0 ? { problems } : { settings };
}

/** Returns the operator's own ServiceAccount; empty outside of a cluster. */
function operatorAccount(env: Environment): Pick<RenderOptions, 'operatorAccount'> {
  const { POD_NAMESPACE: namespace = '', POD_SERVICE_ACCOUNT: name = '' } = env;
  return namespace === '' || name === '' ? {} : { operatorAccount: { namespace, name } };
}

const given = <Name extends string, Value>(name: Name, value: Value | undefined): { readonly [key in Name]?: Value } =>
  (value === undefined || value === '' ? {} : { [name]: value }) as { readonly [key in Name]?: Value };

const listOf = (text: string): string[] => [
  ...new Set(
    text
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== ''),
  ),
];

function readTrustedProxies(networks: readonly string[], problems: string[]): Pick<RenderOptions, 'trustedProxies'> {
  const faults = networks.flatMap((network) => networkFault(network) ?? []);
  problems.push(...faults.map((fault) => `DEFAULT_TRUSTED_PROXIES: ${fault}`));
  return networks.length === 0 ? {} : { trustedProxies: networks };
}

function readNamespaces(
  flag: string | undefined,
  fallback: string | undefined,
  problems: string[],
): OperatorSettings['namespaces'] {
  const [source, text] = flag === undefined ? ['WATCH_NAMESPACE', fallback ?? ''] : ['--namespace', flag];
  const names = listOf(text);
  if (flag !== undefined && names.length === 0) {
    problems.push('--namespace is empty: list namespaces, separated by commas, or write "all"');
  }
  if (names.length === 0 || (names.length === 1 && names[0] === 'all')) return 'all';
  for (const name of names) {
    if (!NAMESPACE.test(name)) problems.push(`${source}: "${name}" is not a valid namespace name: correct it`);
  }
  return names.toSorted();
}

function oneOf<Value extends string>(
  name: string,
  env: Environment,
  values: readonly Value[],
  otherwise: Value,
  problems: string[],
): Value {
  const value = env[name] ?? '';
  if (value === '') return otherwise;
  const known = values.find((each) => each === value);
  if (known === undefined) problems.push(`${name} is "${value}": set it to ${values.join(', ')} or nothing`);
  return known ?? otherwise;
}

function readFlag(name: string, env: Environment, problems: string[]): boolean | undefined {
  const value = (env[name] ?? '').toLowerCase();
  if (value === '') return undefined;
  if (value !== 'true' && value !== 'false') problems.push(`${name} is "${value}": set it to true, false or nothing`);
  return value === 'true';
}

/** Groups of OpenShift. MicroShift and minimal installations may lack routes; the security group has the rules for users. */
const OPENSHIFT_GROUPS = ['route.openshift.io', 'security.openshift.io'];

/** Returns true on OpenShift, by the groups that its API server has. */
export async function isOpenShift(client: { getJson(path: string): Promise<unknown> }): Promise<boolean> {
  const { groups = [] } = (await client.getJson('/apis')) as { groups?: readonly { readonly name: string }[] };
  return groups.some(({ name }) => OPENSHIFT_GROUPS.includes(name));
}

/** A ConfigMap holds 1 MiB, most of it for the configuration. */
const MAX_CA_BYTES = 256 * 1024;

/**
 * Returns the way of the gateways to addresses outside: the proxies of the operator's own environment, and the CAs that the chart
 * mounts for them. Undefined without any. Adds problems.
 */
export function readEgress(env: Environment, problems: string[]): Egress | undefined {
  const secret = env['GATEWAY_PROXY_SECRET'] || undefined;
  const variables = readVariables(env, secret, problems);
  const ca = readCa(env['GATEWAY_CA_FILE'] || undefined, problems);
  if (secret === undefined && ca === undefined && Object.keys(variables).length === 0) return undefined;
  return { variables, ...(secret !== undefined && { secret }), ...(ca !== undefined && { ca }) };
}

function readVariables(env: Environment, secret: string | undefined, problems: string[]): Egress['variables'] {
  const excluded = env['no_proxy'] || env['NO_PROXY'];
  const noProxy = excluded ? { NO_PROXY: excluded } : {};
  try {
    const { http, https } = readProxies(env) ?? {};
    if (!http && !https) return secret === undefined ? {} : noProxy;
    if (secret !== undefined) return noProxy;
    for (const proxy of [http, https]) problems.push(...credentialProblems(proxy));
    return { ...(http && { HTTP_PROXY: http.href }), ...(https && { HTTPS_PROXY: https.href }), ...noProxy };
  } catch (error) {
    if (!(error instanceof ProxyUrlError)) throw error;
    problems.push(error.message);
    return {};
  }
}

/** Reports a credential that everybody who may read the Deployments of gateways could read. */
const credentialProblems = (proxy: Proxy | undefined): string[] =>
  proxy?.authorization === undefined
    ? []
    : [
        `${proxy.variable} has a user name or password, which would be visible in the Deployments of the gateways: put the URL into a Secret of their namespaces and name it in GATEWAY_PROXY_SECRET (chart: proxy.secret)`,
      ];

function readCa(path: string | undefined, problems: string[]): string | undefined {
  if (path === undefined) return undefined;
  try {
    const certificates = certificatesOf(readFileSync(path, 'utf8'));
    const bundle = `${certificates.join('\n')}\n`;
    if (bundle.length <= MAX_CA_BYTES) return bundle;
    problems.push(`GATEWAY_CA_FILE: ${path} is larger than 256 KiB: leave only the CAs of your network in it`);
  } catch (error) {
    problems.push(`GATEWAY_CA_FILE: ${path} cannot be used: ${error instanceof Error ? error.message : String(error)}`);
  }
  return undefined;
}
