import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openSession } from '../harness/clients/raw.ts';
import { gatewayOver, server } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { stillRunning } from '../harness/process-tree.ts';
import { testScope } from '../harness/scope.ts';
import { startVmcp, temporaryFolder, within } from '../harness/vmcp.ts';
import { publishScripted, publishStalled, SCRIPTED } from '../workloads/scripted-server.ts';

const FILES = gatewayOver([server('local', SCRIPTED)]);
const EXIT_LIMIT_MS = 8_000;

describe('Ctrl-C while a package is being installed', () => {
  it.each([
    { while: 'its document arrives', path: '/scripted-server' },
    { while: 'its archive arrives', path: '/scripted-server-1.0.0.tgz' },
  ])(
    'ends vmcp and npm soon, and the next start installs it again: while $while',
    async ({ path }) => {
      const scope = testScope();
      const [state, npmCache] = [await temporaryFolder(scope), await temporaryFolder(scope)];
      const cache = { npm_config_cache: npmCache };
      const stalled = await publishStalled(scope, (requested) => requested === path);
      const first = await startVmcp(scope, { files: FILES, state, env: { ...stalled.env, ...cache } });
      await eventually('npm waits for the registry', () => stalled.downloads.includes(path), { timeoutMs: 60_000 });
      const children = await first.descendants();
      expect(children.some(({ command }) => command.includes('npm'))).toBe(true);

      first.signalGroup('SIGINT');
      expect(await within(first.exited, EXIT_LIMIT_MS, () => `vmcp does not end:\n${first.output()}`)).toEqual({
        code: 0,
        signal: null,
      });
      expect(first.output()).not.toMatch(/"level":"(?:warn|error)"/u);
      expect(await stillRunning(children)).toEqual([]);
      const marker = join(state, 'packages', 'npm', 'scripted-server@latest', '.complete');
      expect(existsSync(marker)).toBe(false);

      const second = await startVmcp(scope, {
        files: FILES,
        state,
        env: { ...(await publishScripted(scope)), ...cache },
      });
      const session = await openSession(second.url);
      await eventually('the server answers', async () => (await session.tools()).includes('local_echo'), {
        timeoutMs: 60_000,
      });
    },
    180_000,
  );
});
