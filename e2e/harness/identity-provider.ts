import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { eventually } from './poll.ts';
import type { Scope } from './scope.ts';
import { root } from './vmcp.ts';

/** The identity provider of the examples (`oidc-provider`), in a process of its own. */
export interface IdentityProvider {
  readonly issuer: string;
  readonly port: number;
  readonly tokenUrl: string;
  /** Returns a token without a login. The default audience is `http://127.0.0.1:4483/mcp`. */
  token(user: string, audience?: string): Promise<string>;
  /** Lines of its log: users and audiences, never tokens. */
  lines(): string[];
  /** Kills the process. */
  kill(): Promise<void>;
}

export interface IdentityProviderOptions {
  readonly port?: number;
  /** Address to listen on; an address that pods reach in cluster tests. */
  readonly host?: string;
  readonly redirectUri?: string;
  readonly opaque?: boolean;
  readonly tokenSeconds?: number;
}

/** Runs `examples/identity-provider/main.ts` on a free port until the scope ends. */
export async function startIdentityProvider(
  scope: Scope,
  { port, host = '127.0.0.1', redirectUri, opaque = false, tokenSeconds = 3_600 }: IdentityProviderOptions = {},
): Promise<IdentityProvider> {
  const chosen = port ?? (await freePort());
  const main = join(root, 'examples', 'identity-provider', 'main.ts');
  const flags = ['--host', host, '--port', String(chosen), '--token-seconds', String(tokenSeconds)];
  if (opaque) flags.push('--opaque');
  if (redirectUri !== undefined) flags.push('--redirect-uri', redirectUri);
  const child = spawn(process.execPath, [main, ...flags], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let complaints = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text));
  const end = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, 'exit');
  };
  scope.defer(() => end('SIGTERM')); // so that it writes the compile cache, from which the next one starts
  const issuer = `http://${host}:${String(chosen)}`;
  await eventually('the identity provider listens', () => {
    if (child.exitCode !== null) throw new Error(`the identity provider ended: ${complaints}`);
    return output.includes('Stop with Ctrl-C');
  });
  return {
    issuer,
    port: chosen,
    tokenUrl: `${issuer}/token`,
    async token(user, audience) {
      const query = audience === undefined ? '' : `?audience=${encodeURIComponent(audience)}`;
      const response = await fetch(`${issuer}/dev/token/${user}${query}`);
      if (!response.ok) throw new Error(`no token for ${user}: ${String(response.status)}`);
      return (await response.text()).trim();
    },
    lines: () => output.split('\n'),
    kill: () => end('SIGKILL'),
  };
}
