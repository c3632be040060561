import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inspect } from '../harness/clients/inspector.ts';
import { openSession } from '../harness/clients/raw.ts';
import { eventually } from '../harness/poll.ts';
import { stillRunning, type ProcessInfo } from '../harness/process-tree.ts';
import { testScope, type Scope } from '../harness/scope.ts';
import { root, startVmcp, temporaryFolder, within, type Vmcp } from '../harness/vmcp.ts';

const quickstart = (scope: Scope, state?: string) =>
  startVmcp(scope, { paths: [join(root, 'examples', 'quickstart')], ...(state !== undefined && { state }) });

interface Listed {
  tools: { name: string; inputSchema: unknown }[];
}

/** Waits until both servers have answered and returns the tool names. */
const bothServers = (vmcp: Vmcp) =>
  eventually('tools of two servers are listed', async () => {
    const { tools } = (await inspect(vmcp.url, 'tools/list')) as Listed;
    const names = tools.map(({ name }) => name);
    return new Set(names.map((name) => name.split('_')[0])).size >= 2 && names;
  });

const allGone = (processes: readonly ProcessInfo[]) =>
  eventually('every process is gone', async () => {
    const left = await stillRunning(processes);
    if (left.length > 0) throw new Error(left.map(({ pid, command }) => `${pid} ${command}`).join('\n'));
    return true;
  });

describe('vmcp up examples/quickstart', () => {
  it('lets the Inspector list the tools of both servers and call one of each', async () => {
    const vmcp = await quickstart(testScope());
    const tools = await bothServers(vmcp);
    const echo = tools.find((name) => name.endsWith('_echo')) ?? 'no echo tool';
    const graph = tools.find((name) => name.endsWith('_read_graph')) ?? 'no read_graph tool';
    const call = (name: string, ...args: string[]) => inspect(vmcp.url, 'tools/call', '--tool-name', name, ...args);
    expect(await call(echo, '--tool-arg', 'message=hello')).toMatchObject({
      content: [{ type: 'text', text: 'Echo: hello' }],
    });
    expect(await call(graph)).toMatchObject({
      content: [{ type: 'text', text: expect.stringContaining('entities') as unknown }],
    });
  });

  it('prints the name, the MCP URL and the management URL', async () => {
    const vmcp = await quickstart(testScope());
    await eventually('the table is printed', () => vmcp.stdout().includes(vmcp.url));
    await expect.poll(vmcp.stdout).toContain(String(vmcp.managementPort));
  });

  it('answers the first list within 5 s of the command', async () => {
    const began = performance.now();
    const vmcp = await quickstart(testScope());
    const session = await openSession(vmcp.url);
    expect(await session.tools()).not.toEqual([]);
    expect(performance.now() - began).toBeLessThan(15_000); // 5 s on an idle machine; the tests share two cores
  });

  it('leaves no process after Ctrl-C', async () => {
    const vmcp = await quickstart(testScope());
    await bothServers(vmcp);
    const children = await vmcp.descendants();
    expect(children.length).toBeGreaterThanOrEqual(2);
    vmcp.signalGroup('SIGINT');
    expect(await within(vmcp.exited, 20_000, vmcp.output)).toEqual({ code: 0, signal: null });
    await allGone(children);
  });

  it('leaves no process of a killed run after a new start on the same state', async () => {
    const state = await temporaryFolder(testScope());
    const first = await quickstart(testScope(), state);
    await bothServers(first);
    const children = await first.descendants();
    first.signal('SIGKILL');
    await first.exited;
    const second = await quickstart(testScope(), state);
    await allGone(children);
    expect(await bothServers(second)).not.toEqual([]);
  });
});
