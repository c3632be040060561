import { describe, expect, it } from 'vitest';
import { openSession, textOf, type RawSession } from '../harness/clients/raw.ts';
import { gatewayOver, server } from '../harness/manifests.ts';
import { npmRegistry, npx } from '../harness/packages.ts';
import { eventually } from '../harness/poll.ts';
import { stillRunning } from '../harness/process-tree.ts';
import { printOnFailure, testScope } from '../harness/scope.ts';
import { startVmcp, type Vmcp } from '../harness/vmcp.ts';

async function start(spec: Record<string, unknown> = {}): Promise<Vmcp> {
  const scope = testScope();
  const files = gatewayOver([server('local', npx('vmcp-fixture'), { args: ['local'], ...spec })]);
  const vmcp = await startVmcp(scope, { files, env: await npmRegistry(scope) });
  printOnFailure(() => vmcp.output().slice(-4_000));
  const session = await openSession(vmcp.url);
  await eventually('the server is installed and listed', async () => (await session.tools()).includes('local_echo'), {
    timeoutMs: 60_000,
  });
  await session.end();
  return vmcp;
}

/** Returns the process id of the child that answers this session. */
async function childOf(session: RawSession): Promise<number> {
  const reply = await session.call('local_whoami');
  const [, pid] = /^local (\d+)$/.exec(textOf(reply)) ?? [];
  if (pid === undefined) throw new Error(`no answer: ${reply.text}`);
  return Number(pid);
}

const fixtures = async (vmcp: Vmcp) =>
  (await vmcp.descendants()).filter(({ command }) => command.includes('vmcp-fixture'));

describe('a stdio server', () => {
  it.each(['principal', 'shared', undefined])(
    'with isolation %s serves all anonymous sessions with one child',
    async (isolation) => {
      const vmcp = await start(isolation === undefined ? {} : { isolation });
      const sessions = await Promise.all(Array.from({ length: 4 }, () => openSession(vmcp.url)));
      const children = await Promise.all(sessions.map(childOf));
      expect(new Set(children).size).toBe(1);
      expect(children[0]).not.toBe(vmcp.pid);
    },
  );

  it('with isolation session has a child for each session, which ends with the session', async () => {
    const vmcp = await start({ isolation: 'session' });
    const sessions = await Promise.all(Array.from({ length: 3 }, () => openSession(vmcp.url)));
    const children = await Promise.all(sessions.map(childOf));
    expect(new Set(children).size).toBe(3);
    const [first, ...others] = sessions;
    const running = (await fixtures(vmcp)).filter(({ pid }) => pid === children[0]);
    expect(running).toHaveLength(1);
    await first!.end();
    await eventually('its child is gone', async () => (await stillRunning(running)).length === 0);
    expect(await Promise.all(others.map(childOf))).toEqual(children.slice(1));
  });

  it('runs at most maxProcesses children; a further session gets an error', async () => {
    const vmcp = await start({ isolation: 'session', maxProcesses: 2 });
    const sessions = await Promise.all(Array.from({ length: 3 }, () => openSession(vmcp.url)));
    const replies = await Promise.all(sessions.map((session) => session.call('local_whoami')));
    const isServed = replies.map((reply) => textOf(reply).startsWith('local '));
    const own = 1; // the child for probes does not count
    expect((await fixtures(vmcp)).length).toBeLessThanOrEqual(2 + own);
    const refused = replies[isServed.indexOf(false)]!;
    expect(refused.result).toMatchObject({ isError: true });
    expect(textOf(refused)).toContain('local');
    await sessions[isServed.indexOf(true)]!.end();
    const waiting = sessions[isServed.indexOf(false)]!;
    await eventually('the waiting session gets a child', async () => (await childOf(waiting)) > 0);
  });

  it('with maxProcesses 1 serves a session: probes do not count', async () => {
    const vmcp = await start({ isolation: 'session', maxProcesses: 1 });
    const session = await openSession(vmcp.url);
    await eventually('the session is served', async () => (await childOf(session)) > 0, {
      timeoutMs: 15_000,
      intervalMs: 1_000,
    });
  });

  it('answers many calls at once, each with its own result', async () => {
    const vmcp = await start();
    const session = await openSession(vmcp.url);
    const words = Array.from({ length: 50 }, (_, at) => `word ${at} ${'x'.repeat(at * 100)}`);
    const replies = await Promise.all(words.map((text) => session.call('local_echo', { text })));
    expect(replies.map(textOf)).toEqual(words);
  });

  it('is restarted after it is killed', async () => {
    const vmcp = await start();
    const session = await openSession(vmcp.url);
    const pid = await childOf(session);
    process.kill(pid, 'SIGKILL');
    const next = await eventually('another child answers', () => childOf(session));
    expect(next).not.toBe(pid);
  });

  it('is installed once: a second start of vmcp needs no registry', async () => {
    const scope = testScope();
    const files = gatewayOver([server('local', npx('vmcp-fixture'), { args: ['local'] })]);
    const first = await start();
    await first.stop();
    const offline = { npm_config_registry: 'http://127.0.0.1:9/' };
    const second = await startVmcp(scope, { files, state: first.state, env: offline });
    const session = await openSession(second.url);
    await eventually('the server is listed', async () => (await session.tools()).includes('local_echo'));
  });
});
