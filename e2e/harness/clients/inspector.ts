import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../vmcp.ts';

const program = join(root, 'node_modules', '.bin', 'mcp-inspector');

/** Runs the MCP Inspector's CLI against an endpoint and returns the JSON it prints. @throws when it exits non-zero */
export async function inspect(url: string, method: string, ...args: readonly string[]): Promise<unknown> {
  const line = ['--cli', url, '--transport', 'http', '--method', method, ...args];
  const limits = { timeout: 80_000, killSignal: 'SIGKILL', maxBuffer: 64 * 1024 * 1024 } as const;
  const { stdout } = await promisify(execFile)(program, line, limits);
  return JSON.parse(stdout) as unknown;
}
