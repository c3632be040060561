import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { rpcReply, textOf, type RawSession } from '../harness/clients/raw.ts';
import { server } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { raw } from '../harness/clients/raw.ts';
import { gateway, often, post, rarely, sessionWith, toolCall } from './gateway.ts';

const SCRIPT = join(import.meta.dirname, 'testdata', 'stdio-asker.ts');
const CAPABILITIES = { elicitation: {}, sampling: {}, roots: {} };

/** Returns a stdio server that runs a script with jiti, a package of this project. */
const stdio = (name: string, spec: Readonly<Record<string, unknown>> = {}) =>
  server(name, 'npx://jiti', { args: [SCRIPT], ...spec });

type Held = Pick<RawSession, 'id' | 'headers'>;

const ask = async (url: string, session: Held, tool: string) =>
  textOf(rpcReply(await post(url, session, toolCall(1, tool))));

async function twoSessions(isolation: string | undefined) {
  const vmcp = await gateway([stdio('local', isolation === undefined ? {} : { isolation })], { operational: rarely });
  const sessions = [await sessionWith(vmcp.url, CAPABILITIES), await sessionWith(vmcp.url, CAPABILITIES)];
  const all = async (tool: string) => {
    const texts: string[] = [];
    for (const session of sessions) texts.push(await ask(vmcp.url, session, `local_${tool}`));
    return texts;
  };
  return { vmcp, sessions, all };
}

describe.concurrent('a stdio backend', () => {
  it.each([undefined, 'principal', 'shared'])(
    'with isolation %s has one process for anonymous sessions',
    async (isolation) => {
      const { all } = await twoSessions(isolation);
      const [first, second] = await all('whoami');
      expect(first).toMatch(/^\d+$/);
      expect(second).toBe(first);
      const apps = '{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}';
      expect(await all('offered')).toEqual([apps, apps]); // what lists need, and nothing that one client must answer
    },
  );

  it.each(['principal', 'shared'])(
    'with isolation %s forwards its messages after a call to no other session',
    async (isolation) => {
      const { vmcp, sessions, all } = await twoSessions(isolation);
      await all('whoami');
      const [first, second] = sessions;
      await post(vmcp.url, first!, toolCall(1, 'local_murmur'));
      expect((await post(vmcp.url, second!, toolCall(1, 'local_whoami'))).body).not.toContain('murmur');
    },
  );

  it('with isolation principal forwards its messages to the only session', async () => {
    const vmcp = await gateway([stdio('local')], { operational: rarely });
    const session = await sessionWith(vmcp.url, CAPABILITIES);
    await post(vmcp.url, session, toolCall(1, 'local_murmur'));
    expect((await post(vmcp.url, session, toolCall(1, 'local_whoami'))).body).toContain('murmur');
  });

  it('with isolation session has a process for each session, with the capabilities of its client', async () => {
    const { vmcp, sessions, all } = await twoSessions('session');
    const pids = await all('whoami');
    expect(new Set(pids).size).toBe(2);
    const offered = (await all('offered')).map((text) => JSON.parse(text) as unknown);
    expect(offered).toEqual([CAPABILITIES, CAPABILITIES]);
    await raw(vmcp.url, { method: 'DELETE', headers: { ...sessions[0]?.headers } });
    await eventually('the process of the closed session has ended', () => !isAlive(Number(pids[0])));
    expect(isAlive(Number(pids[1]))).toBe(true);
  });

  it('affects only its own calls when it crashes, hangs, writes garbage or answers with other ids', async () => {
    const operational = { ...often, timeouts: { default: '1s', perWorkload: { well: '20s' } } };
    const vmcp = await gateway([stdio('ill'), stdio('well')], { operational });
    const session = await sessionWith(vmcp.url, CAPABILITIES);
    const pid = await ask(vmcp.url, session, 'well_whoami');
    for (const tool of ['ill_hang', 'ill_garbage', 'ill_lie']) {
      expect(await ask(vmcp.url, session, tool)).toMatch(
        /^backend "ill" (timed out after 1 s|sent a message that is not valid MCP)$/,
      );
      expect(await ask(vmcp.url, session, 'ill_whoami')).toMatch(/^\d+$/);
    }
    expect(await ask(vmcp.url, session, 'ill_crash')).toBe('backend "ill" is unavailable');
    expect(await ask(vmcp.url, session, 'well_whoami')).toBe(pid);
    await eventually('it was started again', async () => /^\d+$/.test(await ask(vmcp.url, session, 'ill_whoami')));
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
