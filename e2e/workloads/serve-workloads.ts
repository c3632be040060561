import { connectV1 } from '../harness/clients/sdk-v1.ts';
import { eventually } from '../harness/poll.ts';
import type { Scope } from '../harness/scope.ts';
import { startServe } from '../harness/serve.ts';
import type { RunOptions } from '../harness/vmcp.ts';

interface Listed {
  readonly name: string;
  readonly status: string;
  readonly status_context?: string;
  readonly url: string;
  readonly started_at: string;
}

/** Starts `vmcp serve` with a password for secrets, and returns functions that read its workloads. */
export async function serveWorkloads(
  scope: Scope,
  state: string,
  env: Readonly<Record<string, string>> = {},
  options: Pick<RunOptions, 'terminal' | 'launcher'> = {},
) {
  const password = { VMCP_SECRETS_PASSWORD: 'of-the-test' };
  const serve = await startServe(scope, state, [], { ...options, env: { ...password, ...env } });
  const { send } = serve;
  const list = async (): Promise<readonly Listed[]> =>
    ((await send('GET', '/workloads?all=true')).json as { workloads: Listed[] }).workloads;
  const find = async (name: string): Promise<Listed> => {
    const found = (await list()).find((workload) => workload.name === name);
    if (!found) throw new Error(`there is no workload "${name}"`);
    return found;
  };
  /** Waits for a status, and returns its context. A workload that cannot run ends the wait. */
  const reaches = async (name: string, status: string, timeoutMs = 40_000): Promise<string> => {
    const last = await eventually(
      `${name} is ${status} or in error`,
      async () => {
        const now = (await send('GET', `/workloads/${name}/status`)).json as Pick<Listed, 'status' | 'status_context'>;
        return (now.status === status || now.status === 'error') && now;
      },
      { timeoutMs },
    );
    if (last.status !== status) throw new Error(`${name} is in error: ${last.status_context ?? 'no reason'}`);
    return last.status_context ?? '';
  };
  return { ...serve, list, find, reaches };
}

/** Calls a tool of a workload with a client of its own, and returns the text of the result. */
export async function callTool(url: string, name: string, args: Readonly<Record<string, unknown>>): Promise<string> {
  const { client, close } = await connectV1({ transport: 'streamable-http', url });
  try {
    const { content } = (await client.callTool({ name, arguments: args })) as { content: { text: string }[] };
    return content.map(({ text }) => text).join('\n');
  } finally {
    await close();
  }
}
