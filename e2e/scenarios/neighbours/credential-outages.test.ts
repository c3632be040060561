import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { beforeAll, describe, expect, it } from 'vitest';
import type { GatewayConfig } from '../../../gateway/contract/gateway-config.ts';
import { startGateway } from '../../../gateway/process/gateway.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { startPersonalBackend } from '../../harness/backends/personal.ts';
import { openSession, raw } from '../../harness/clients/raw.ts';
import { startIssuer, type Issuer } from '../../harness/issuer.ts';
import { eventually } from '../../harness/poll.ts';
import { blockScope } from '../../harness/scope.ts';

const scope = blockScope();

type Answer = (res: ServerResponse) => unknown;

/** Outages of a source of credentials, with the words in the log. */
const OUTAGES: Readonly<Record<string, readonly [Answer, string]>> = {
  down: [(res) => res.destroy(), 'gave no reply that can be used'],
  failing: [(res) => res.writeHead(503).end(), 'answered 503'],
  throttling: [(res) => res.writeHead(429, { 'retry-after': '1' }).end('{}'), 'answered 429'],
  hanging: [() => undefined, 'has not answered for 5 s'],
};
const STRATEGIES = ['token_exchange', 'cloud_sts'] as const;
const NAMES = Object.keys(OUTAGES).flatMap((outage) => STRATEGIES.map((type) => `${outage}-${type.replace('_', '-')}`));

let issuer: Issuer;
let url = '';
let management = '';
let log = '';
let sources = '';

beforeAll(async () => {
  issuer = await startIssuer(scope);
  const backend = await startPersonalBackend(scope);
  const server = createServer((req, res) => {
    req.resume();
    OUTAGES[new URL(req.url ?? '/', 'http://x').pathname.slice(1)]?.[0](res);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  scope.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  sources = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  const stream = new PassThrough();
  stream.on('data', (chunk: Buffer) => (log += chunk.toString()));
  const gateway = await startGateway({
    servers: [{ config: configOf(backend.url), host: '127.0.0.1', port: 0 }],
    management: { host: '127.0.0.1', port: 0 },
    log: createLog(stream, 'warn'),
    version: '0.0.0',
  });
  scope.defer(() => gateway.stop(0));
  url = gateway.servers[0]?.mcpUrl ?? '';
  management = gateway.managementUrl;
  const authorization = `Bearer ${issuer.token({ sub: 'ann', tsid: 'login-of-ann' })}`;
  const session = await openSession(url, undefined, { authorization });
  expect(await session.tools()).toEqual([]);
});

function authOf(name: string): { readonly type: string; readonly [member: string]: unknown } {
  const [outage = '', ...type] = name.split('-');
  const endpoint = `${sources}/${outage}`;
  const flags = { allow_private_ips: true, insecure_allow_http: true };
  return type.join('_') === 'cloud_sts'
    ? {
        type: 'cloud_sts',
        region: 'eu-central-1',
        fallback_role_arn: 'arn:aws:iam::123456789012:role/mcp',
        sts_endpoint: endpoint,
        ...flags,
      }
    : { type: 'token_exchange', token_url: endpoint, audience: 'own', ...flags };
}

const configOf = (backend: string): GatewayConfig => ({
  schema_version: 'v0.1.0',
  name: 'outages',
  oidc_config: { issuer: issuer.url, audience: 'vmcp' },
  vmcp: {
    incoming: { type: 'oidc' },
    backends: NAMES.map((name) => ({ name, transport: 'streamable-http', url: backend })),
    outgoing_auth: Object.fromEntries(NAMES.map((name) => [name, authOf(name)])),
    aggregation: { conflict_resolution: 'prefix', prefix_format: '{workload}_', default_tool_visibility: 'allow' },
    operational: {
      timeouts: { default: '2s' },
      failure_handling: {
        health_check_interval: '30s',
        health_check_timeout: '5s',
        unhealthy_threshold: 3,
        circuit_breaker: { enabled: false, failure_threshold: 5, timeout: '60s' },
      },
    },
  },
});

interface Problem {
  readonly reason: string;
  readonly path?: string;
  readonly message: string;
}

describe.concurrent('a source of credentials for lists that are not cached', () => {
  it.each(NAMES)('that is %s has a line in the log and a problem in /status', async (name) => {
    const words = OUTAGES[name.split('-')[0] ?? '']?.[1] ?? '';
    const problemOf = async (): Promise<Problem | undefined> => {
      const { problems } = JSON.parse((await raw(`${management}/status`)).body) as { problems: readonly Problem[] };
      return problems.find(({ path }) => path === `vmcp.outgoing_auth.${name}`);
    };
    await eventually('the problem is shown', async () => (await problemOf())?.message.includes(words) === true);
    expect(await problemOf()).toMatchObject({
      reason: 'CredentialUnavailable',
      message: expect.stringContaining(`cannot obtain a credential for backend "${name}": `) as unknown,
    });
    const lines = log.split('\n').filter((line) => line.includes(`"backend":"${name}"`));
    expect(lines.filter((line) => line.includes('no credential for a backend'))).toEqual([
      expect.stringContaining(words),
    ]);
  });
});
