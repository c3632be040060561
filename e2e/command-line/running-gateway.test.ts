import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { openSession } from '../harness/clients/raw.ts';
import { startHttpBackend } from '../harness/backends/http.ts';
import { freePort } from '../harness/free-port.ts';
import { entry, gatewayOver, group, virtualServer, yaml } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { blockScope, testScope } from '../harness/scope.ts';
import { root, runVmcp, startVmcp, temporaryFolder, vmcpResult, writeFiles, type Vmcp } from '../harness/vmcp.ts';

const scope = blockScope();
let vmcp: Vmcp;

/** Runs a command against the gateway of this file. */
const run = (...args: string[]) => vmcpResult(testScope(), [...args, '--state', vmcp.state]);

beforeAll(async () => {
  const remote = await startHttpBackend(scope, 'sdk-1-stateful', 'remote');
  const absent = entry('absent', `http://127.0.0.1:${String(await freePort())}/mcp`);
  const failureHandling = { unhealthyThreshold: 1, healthCheckInterval: '1s' };
  const files = gatewayOver([entry('remote', remote.url), absent], { operational: { failureHandling } });
  vmcp = await startVmcp(scope, { files });
  await eventually('the absent server is unhealthy', async () =>
    (await vmcpResult(scope, ['status', '--state', vmcp.state])).stdout.includes('unhealthy'),
  );
});

const ABSENT = 'absent is unhealthy: vmcp status shows why\n';

describe('vmcp up', () => {
  it('prints commands that find it', async () => {
    await eventually('the commands are printed', () => vmcp.stdout().includes('Stop with Ctrl-C.'));
    const [, program = '', args = ''] = /^List the tools: {2}(\S*vmcp) (.*)$/mu.exec(vmcp.stdout()) ?? [];
    expect(program).toBe(join(root, 'bin', 'vmcp'));
    const { code, stdout } = await vmcpResult(testScope(), args.split(' '));
    expect(code).toBe(0);
    expect(stdout).toContain('remote_add');
  });
});

describe('vmcp tools', () => {
  it('lists the tools with their servers', async () => {
    const { code, stdout, stderr } = await run('tools');
    expect({ code, stderr }).toEqual({ code: 0, stderr: ABSENT });
    expect(stdout).toMatch(/^NAME +BACKEND +DESCRIPTION\nremote_add +remote +Adds two numbers\.\n/u);
  });

  it('lists the tools of one server', async () => {
    expect((await run('tools', 'remote', '-o', 'json')).stdout).toContain('"name": "remote_echo"');
    const { code, stderr } = await run('tools', 'absent');
    expect({ code, stderr }).toEqual({ code: 1, stderr: ABSENT });
    expect(await run('tools', 'other')).toMatchObject({
      code: 1,
      stderr: 'no tool belongs to "other": the servers are absent, remote\n',
    });
  });

  it('checks them against the rules of model APIs', async () => {
    const { code, stdout } = await run('tools', 'remote', '--check');
    expect(stdout).toMatch(/^OpenAI: ok \(10 tools\)\nAnthropic: ok \(10 tools\)\nGemini: ok \(10 tools\)\n$/u);
    expect(code).toBe(0);
    const json = await run('tools', '--check', '-o', 'json');
    expect(JSON.parse(json.stdout)).toMatchObject({ tools: 10, rejected: 0 });
  });

  it('needs only the MCP URL', async () => {
    const { code, stdout } = await vmcpResult(testScope(), ['tools', '--url', vmcp.url]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^remote_echo +- +Says it again\.$/mu);
  });

  it('explains that nothing answers', async () => {
    const url = `http://127.0.0.1:${String(await freePort())}/mcp`;
    const { code, stdout, stderr } = await vmcpResult(testScope(), ['tools', '--url', url]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(
      `nothing answers at ${url} (ECONNREFUSED): start the gateway with vmcp up, or correct the URL\n`,
    );
  });
});

describe('vmcp call', () => {
  it('converts the arguments and prints the text', async () => {
    const { code, stdout, stderr } = await run('call', 'remote_add', 'a=2', '--json', '{"a": 7, "b": 3}');
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '5\n', stderr: '' });
  });

  it('prints the whole result as JSON', async () => {
    const { stdout } = await run('call', 'remote_structured', '--arg', 'city=Bern', '-o', 'json');
    expect(JSON.parse(stdout)).toMatchObject({ structuredContent: { city: 'Bern', celsius: 21 } });
  });

  it('fails with one sentence', async () => {
    const cases: readonly (readonly [args: string[], code: number, stderr: string])[] = [
      [['remote_failing'], 1, 'this tool always fails\n'],
      [['echo'], 1, `there is no tool "echo": did you mean remote_echo?\n${ABSENT}`],
      [['remote_add', '--arg', 'a=two'], 2, '--arg a: the value must be a number\n'],
      [
        ['remote_slow', '--arg', 'ms=60000', '--timeout', '1s'],
        1,
        'there was no answer in time: pass a longer --timeout\n',
      ],
    ];
    const results = await Promise.all(cases.map(([args]) => run('call', ...args)));
    expect(results.map(({ code, stdout, stderr }) => ({ code, stdout, stderr }))).toEqual(
      cases.map(([, code, stderr]) => ({ code, stdout: '', stderr })),
    );
  });
});

describe('vmcp status', () => {
  it('shows the state, tools, calls and reason of each server', async () => {
    const { stdout: table } = await run('status');
    expect(table.split('\n')[0]).toMatch(new RegExp(`^default/gateway  ${vmcp.url}  \\d+ sessions?$`, 'u'));
    expect(table).toMatch(
      /^NAME +STATE +TOOLS +CALLS +REASON\nabsent +unhealthy +- +0 +\w.*\nremote +healthy +10 +\d+$/mu,
    );
  });

  it('shows user, client, age and last use of a session', async () => {
    const session = await openSession(vmcp.url);
    const { stdout: table } = await run('status');
    expect(table).toMatch(/^USER +CLIENT +AGE +LAST USE\nanonymous +\S.* +\d+s +\d+s ago$/mu);
    const { session_list: listed } = (await (await fetch(`${vmcp.management}/status`)).json()) as {
      session_list: object[];
    };
    await session.end();
    expect(listed).not.toEqual([]);
    expect(JSON.stringify(listed)).not.toContain(session.id);
  });

  it('prints JSON, for a management URL too', async () => {
    const args = ['status', '--management', vmcp.management, '-o', 'json'];
    const { stdout } = await vmcpResult(testScope(), args);
    expect(JSON.parse(stdout)).toMatchObject({
      servers: [{ name: 'gateway', backends: [{ name: 'absent' }, { name: 'remote', state: 'healthy', tools: 10 }] }],
    });
  });

  it('redraws the table on a terminal', async () => {
    const { stdout } = await runVmcp(testScope(), ['status', '-w', '--state', vmcp.state], { terminal: true });
    await eventually('the table', () => stdout().startsWith('\u001b[2J\u001b[Hdefault/gateway  '));
  });

  it('prints changed rows until Ctrl-C', async () => {
    const watching = await runVmcp(testScope(), ['status', '--watch', '--state', vmcp.state]);
    const calls = (): number =>
      Number([...watching.stdout().matchAll(/^remote +healthy +10 +(\d+)$/gmu)].at(-1)?.[1] ?? -1);
    const before = await eventually('the first rows', () => calls() >= 0 && { calls: calls() });
    await run('call', 'remote_whoami');
    await eventually('a row with one more call', () => calls() === before.calls + 1);
    expect(watching.stdout().match(/^NAME/gmu)).toHaveLength(1);
    watching.signalGroup('SIGINT');
    expect(await watching.exited).toMatchObject({ code: 0 });
  });

  it('explains that no gateway runs', async () => {
    const state = await temporaryFolder(testScope());
    const { code, stdout, stderr } = await vmcpResult(testScope(), ['status', '--state', state]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(
      `no gateway runs with the state folder ${state}: start one with vmcp up, or name one with --management URL\n`,
    );
  });
});

describe('vmcp doctor', () => {
  it('prints a line for each check', async () => {
    const { code, stdout, stderr } = await run('doctor');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^ok +Node\.js +\d+\.\d+\.\d+$/mu);
    expect(stdout).toContain(vmcp.state);
    expect(stdout.split('\n').filter((line) => !/^(ok|warn) /u.test(line))).toEqual(['']);
  });

  it('fails when an issuer in the files cannot be reached', async () => {
    const issuer = `http://127.0.0.1:${String(await freePort())}`;
    const oidcConfig = { type: 'inline', inline: { issuer, audience: 'desk' } };
    const folder = await temporaryFolder(testScope());
    await writeFiles(folder, {
      'a.yaml': yaml(group(), virtualServer({}, { incomingAuth: { type: 'oidc', oidcConfig } })),
    });
    const { code, stdout } = await run('doctor', folder, '-o', 'json');
    expect(code).toBe(1);
    const { checks } = JSON.parse(stdout) as { checks: { name: string }[] };
    expect(checks.find(({ name }) => name === 'issuers')).toMatchObject({
      state: 'fail',
      message: expect.stringContaining('ECONNREFUSED') as unknown,
    });
  });
});
