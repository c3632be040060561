import { resolve } from 'node:path';
import { readRunning } from '../../local/running.ts';
import { defaultStateDir } from '../../local/state.ts';
import { openBrowser } from './browser.ts';
import type { LoginPlace } from './browser-login.ts';
import { chooseEndpoint, type EndpointFlags } from './endpoint.ts';
import { failureSentence } from './failure-sentence.ts';
import { openSession, type McpSession } from './mcp-session.ts';

export interface SessionFlags extends EndpointFlags {
  readonly state?: string;
  readonly token?: string;
  readonly clientId?: string;
}

/** Opens a session and returns the exit code of `use`; after one sentence 1 when there is no session, or 2 when the options choose none. */
export async function withSession(
  flags: SessionFlags,
  use: (session: McpSession, managementUrl: string | undefined) => Promise<number>,
): Promise<number> {
  const stateDir = resolve(flags.state ?? defaultStateDir(process.env));
  const running = readRunning(stateDir);
  const endpoint = chooseEndpoint(flags, running, stateDir);
  if ('problem' in endpoint) {
    process.stderr.write(`${endpoint.problem}\n`);
    return running ? 2 : 1;
  }
  const { mcpUrl, managementUrl } = endpoint;
  let session: McpSession | undefined;
  try {
    session = await openSession(mcpUrl, flags.token ?? process.env['VMCP_TOKEN'], loginPlace(stateDir, flags.clientId));
    return await use(session, managementUrl);
  } catch (error) {
    process.stderr.write(`${failureSentence(error, mcpUrl)}\n`);
    return 1;
  } finally {
    await session?.close();
  }
}

const loginPlace = (stateDir: string, clientId: string | undefined): LoginPlace => ({
  stateDir,
  clientId,
  isInteractive: process.stderr.isTTY || process.env['BROWSER'] !== undefined,
  show: (url) => {
    process.stderr.write(`log in at ${url.href}\n`);
    openBrowser(url, process.env);
  },
});
