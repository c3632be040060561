import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { request } from 'undici';
import { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import { VMCP } from '../../gateway/contract/testdata/vmcp-config.ts';
import { SCHEMA_VERSION } from '../../gateway/contract/run-config/run-config.ts';
import { freePorts, start, stop, type Child } from './processes.ts';

const READY_TIMEOUT_MS = 30_000;
const POLL_MS = 2;

/** Waits until `probe` returns true; a throw counts as false. Rejects when the process ends or after 30 s. */
export async function until(child: Child, probe: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  for (;;) {
    if (await probe().catch(() => false)) return;
    if (child.process.exitCode !== null) throw new Error(`${child.name} ended: ${child.stderr()}`);
    if (performance.now() > deadline) throw new Error(`${child.name} was not ready in 30 s: ${child.stderr()}`);
    await sleep(POLL_MS);
  }
}

/** Returns the path of the built CLI. @throws Error with the command that builds it */
export function builtCli(root: string): string {
  const cli = join(root, 'dist/operator/cli/main.js');
  if (!existsSync(cli)) throw new Error(`${cli} does not exist: run \`make build\` first`);
  return cli;
}

/** Authentication of clients, and the credential of every backend. */
export interface Authentication {
  readonly issuer: string;
  readonly audience: string;
  readonly outgoing: { readonly type: string; readonly [member: string]: unknown };
}

type Backends = readonly { readonly name: string; readonly url: string }[];

/** Returns the configuration of a gateway over these backends, anonymous without `authentication`. */
export function configOver(backends: Backends, authentication?: Authentication): GatewayConfig {
  return {
    schema_version: SCHEMA_VERSION,
    name: 'bench',
    ...(authentication && { oidc_config: { issuer: authentication.issuer, audience: authentication.audience } }),
    vmcp: {
      ...VMCP,
      incoming: { type: authentication ? 'oidc' : 'anonymous' },
      ...(authentication && {
        outgoing_auth: Object.fromEntries(backends.map(({ name }) => [name, authentication.outgoing])),
      }),
      backends: backends.map(({ name, url }) => ({ name, url, transport: 'streamable-http' })),
    },
  };
}

/** Writes the configuration file of a gateway over `backends` and returns its path. */
export function writeConfig(folder: string, backends: Backends, authentication?: Authentication): string {
  const config = configOver(backends, authentication);
  const ajv = new Ajv2020({ strict: false });
  if (!ajv.validate(GatewayConfig, config)) throw new Error(`bench configuration: ${ajv.errorsText()}`);
  const file = join(folder, `gateway-${authentication?.outgoing.type ?? 'anonymous'}-${String(backends.length)}.json`);
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  return file;
}

export interface RunningGateway {
  readonly child: Child;
  readonly port: number;
  readonly managementPort: number;
  /** Time from exec to the first 200 of /readyz. */
  readonly readyMs: number;
}

/** Starts the built `vmcp gateway`, on a free port by default, and waits until it is ready. */
export async function startGateway(root: string, configFile: string, chosenPort?: number): Promise<RunningGateway> {
  const [freePort = 0, managementPort = 0] = await freePorts(2);
  const port = chosenPort ?? freePort;
  const argv = ['gateway', '--config', configFile, '--host', '127.0.0.1', '--port', String(port)];
  const child = start('vmcp gateway', [builtCli(root), ...argv, '--management-port', String(managementPort)]);
  try {
    await until(child, async () => {
      const reply = await request(`http://127.0.0.1:${String(port)}/readyz`, { headersTimeout: 5_000 });
      await reply.body.dump();
      return reply.statusCode === 200;
    });
  } catch (error) {
    await stop(child);
    throw error;
  }
  return { child, port, managementPort, readyMs: performance.now() - child.startedAtMs };
}
