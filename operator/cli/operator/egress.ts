import { readFileSync } from 'node:fs';
import { readProxies, ProxyUrlError, type Proxy } from '../../../gateway/outbound/proxy/proxies.ts';
import { certificatesOf } from '../../../gateway/outbound/certificates.ts';
import type { Egress } from '../../render/index.ts';

type Environment = Readonly<Record<string, string | undefined>>;

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
