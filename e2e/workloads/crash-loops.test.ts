import { expect, it } from 'vitest';
import { eventually } from '../harness/poll.ts';
import { testScope } from '../harness/scope.ts';
import { temporaryFolder } from '../harness/vmcp.ts';
import { publishScripted, SCRIPTED } from './scripted-server.ts';
import { callTool, serveWorkloads } from './serve-workloads.ts';

it.concurrent.each(['stdio', 'streamable-http'])(
  'shows the exit code of a server over %s that ends again and again',
  async (transport) => {
    const scope = testScope();
    const serve = await serveWorkloads(scope, await temporaryFolder(scope), await publishScripted(scope));
    const settings = { name: 'crash', image: SCRIPTED, transport, cmd_arguments: ['crash'] };
    expect((await serve.send('POST', '/workloads', settings)).status).toBe(201);
    const seen = new Set<string>();
    await eventually(
      'it is restarted a second time',
      async () => {
        const { status, status_context: context = '' } = await serve.find('crash');
        seen.add(status);
        return context === 'it ended with exit code 3 and is restarted (restart 2 of 10)';
      },
      { timeoutMs: 40_000 },
    );
    expect([...seen]).toEqual(['starting']);
  },
);

it.concurrent.each(['stdio', 'streamable-http'])(
  'restarts a server over %s that was killed, and shows how it ended',
  async (transport) => {
    const scope = testScope();
    const serve = await serveWorkloads(scope, await temporaryFolder(scope), await publishScripted(scope));
    const settings = { name: 'killed', image: SCRIPTED, transport };
    expect((await serve.send('POST', '/workloads', settings)).status).toBe(201);
    await serve.reaches('killed', 'running');
    const { text } = await serve.send('GET', '/workloads/killed/logs');
    process.kill(Number(/pid (\d+)/u.exec(text)?.[1]), 'SIGKILL');
    await eventually('its restart is shown', async () => {
      const { status, status_context: context } = await serve.find('killed');
      return status === 'starting' && context === 'it was ended by SIGKILL and is restarted (restart 1 of 10)';
    });
    await serve.reaches('killed', 'running');
    expect(await callTool((await serve.find('killed')).url, 'echo', {})).toBe('');
  },
);
