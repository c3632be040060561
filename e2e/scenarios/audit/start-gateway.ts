import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { request } from 'undici';
import type { AuditConfig } from '../../../gateway/contract/run-config/audit.ts';
import { configOver } from '../../harness/authenticated-gateway.ts';
import { startHttpBackend } from '../../harness/backends/http.ts';
import { MCP_HEADERS } from '../../harness/clients/raw.ts';
import { freePort } from '../../harness/free-port.ts';
import { eventually } from '../../harness/poll.ts';
import type { Scope } from '../../harness/scope.ts';
import { runVmcp, temporaryFolder, type RunOptions } from '../../harness/vmcp.ts';
import { eventsOfFile } from './lines.ts';

export interface GatewayStart extends RunOptions {
  /** Folder of the audit log; a new one when absent. */
  readonly folder?: string;
  /** Members of the configuration beside `audit_config`. */
  readonly members?: object;
}

/** Starts `vmcp gateway` over one backend with an audit log, by default in a file, and opens a session. */
export async function startAudited(scope: Scope, audit: AuditConfig = {}, { members, ...options }: GatewayStart = {}) {
  const folder = options.folder ?? (await temporaryFolder(scope));
  const backend = await startHttpBackend(scope, 'sdk-1-stateful', 'docs');
  const [port, managementPort] = [await freePort(), await freePort()];
  const file = join(folder, 'audit.log');
  const allowed = { insecure_allow_http: true, allow_private_ips: true };
  const backends = [{ name: 'docs', transport: 'streamable-http' as const, url: backend.url, ...allowed }];
  const config = { ...configOver({ backends, audit: { logFile: file, ...audit } }), ...members };
  const configFile = join(await temporaryFolder(scope), 'gateway.json');
  await writeFile(configFile, JSON.stringify(config));
  const listen = ['--host', '127.0.0.1', '--port', String(port), '--management-port', String(managementPort)];
  const run = await runVmcp(scope, ['gateway', '--config', configFile, ...listen], options);
  const origin = `http://127.0.0.1:${String(port)}`;
  await eventually('the gateway is ready', async () => !run.running() || (await fetch(`${origin}/readyz`)).ok);
  const post = poster(`${origin}/mcp`);
  const session = run.running() ? await openSession(post) : '';
  /** Calls `echo`; returns the status. */
  const call = (text: string): Promise<number> =>
    post({ method: 'tools/call', params: { name: 'docs_echo', arguments: { text } } }, session).then(
      ({ status }) => status,
    );
  return {
    ...run,
    file,
    call,
    origin,
    events: () => (existsSync(file) ? eventsOfFile(file) : []),
    /** Number of dropped events, by reason. */
    dropped: async (reason: string): Promise<number> => {
      const metrics = await (await fetch(`http://127.0.0.1:${String(managementPort)}/metrics`)).text();
      const pattern = new RegExp(
        `^vmcp_audit_events_dropped_total\\{server="[^"]*",reason="${reason}"\\} (\\d+)$`,
        'mu',
      );
      return Number(pattern.exec(metrics)?.[1] ?? 0);
    },
  };
}

type Post = (message: object, session?: string) => Promise<{ readonly status: number; readonly session: string }>;

const poster =
  (url: string): Post =>
  async (message, session) => {
    const headers = { ...MCP_HEADERS, ...(session !== undefined && { 'mcp-session-id': session }) };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...message });
    const reply = await request(url, { method: 'POST', headers, body });
    await reply.body.dump();
    return { status: reply.statusCode, session: String(reply.headers['mcp-session-id']) };
  };

async function openSession(post: Post): Promise<string> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
  return (await post({ method: 'initialize', params })).session;
}
