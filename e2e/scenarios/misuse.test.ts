import { symlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startHttpBackend } from '../harness/backends/http.ts';
import { openSession, raw, textOf } from '../harness/clients/raw.ts';
import { freePort } from '../harness/free-port.ts';
import { entry, gatewayOver, group, secret, server, virtualServer, yaml } from '../harness/manifests.ts';
import { npmRegistry, npx } from '../harness/packages.ts';
import { eventually } from '../harness/poll.ts';
import { testScope, type Scope } from '../harness/scope.ts';
import { root, runVmcp, startGateway, startVmcp, temporaryFolder, vmcpResult, writeFiles } from '../harness/vmcp.ts';

/** Frequent probes. */
const often = {
  failureHandling: { healthCheckInterval: '500ms', healthCheckTimeout: '5s', unhealthyThreshold: 2 },
};

const remote = entry('remote', 'http://127.0.0.1:9/mcp');

/** Runs a command on a folder with these files. */
async function over(command: string, files: Record<string, string>, ...args: string[]) {
  const scope = testScope();
  const folder = await temporaryFolder(scope);
  await writeFiles(folder, files);
  const state = command === 'up' ? ['--state', await temporaryFolder(scope), '--port', String(await freePort())] : [];
  return vmcpResult(scope, [command, folder, ...state, ...args]);
}

async function occupy(scope: Scope): Promise<number> {
  const port = await freePort();
  const holder = createServer().listen(port, '127.0.0.1');
  scope.defer(() => holder.close());
  return port;
}

/** Stack traces, which no output may contain. */
const STACK = /^\s+at .*[:(]\d+:\d+|node:internal|UnhandledPromise/m;

describe.concurrent.each(['up', 'validate'])('vmcp %s', (command) => {
  const good = gatewayOver([remote])['gateway.yaml']!;
  const at = (text: string, needle: string) => text.slice(0, text.indexOf(needle)).split('\n').length;
  const unknownField = good.replace('remoteUrl:', 'remoteUri:');
  const wrongType = good.replace('name: fixtures', 'name: [fixtures]');

  it.each([
    ['bad YAML', 'kind: MCPGroup\nmetadata:\n\tname: x\n', /bad\.yaml:3: .*\[InvalidYAML\]/],
    ['an unknown kind', good.replace('kind: MCPGroup', 'kind: MCPGrup'), /bad\.yaml:\d+: .*MCPGrup.*MCPGroup/],
    [
      'an unknown field',
      unknownField,
      new RegExp(
        `bad\\.yaml:${at(unknownField, 'remoteUri:')}: MCPServerEntry/remote: .*remoteUri.*\\[UnknownField\\]`,
      ),
    ],
    ['a wrong type', wrongType, /bad\.yaml:\d+: .*metadata\.name.*\[Invalid\w+\]/],
    [
      'a missing group',
      good.replace(/groupRef:\n\s+name: fixtures/, 'groupRef:\n    name: nobody'),
      /bad\.yaml:\d+: VirtualMCPServer\/gateway: .*groupRef.*nobody.*\[GroupRefNotFound\]/,
    ],
    ['one name twice', `${good}---\n${yaml(remote)}`, /bad\.yaml:\d+: MCPServerEntry\/remote: .*bad\.yaml:\d+/],
    ['nothing but comments', '# nothing\n', /no objects found.*\[NoManifests\]/],
  ])('with %s exits with 2 and names the line and the reason', async (_what, text, message) => {
    const { code, output } = await over(command, { 'bad.yaml': text });
    expect(output).toMatch(message);
    expect(output).not.toMatch(STACK);
    expect(code).toBe(2);
  });

  it('reports all mistakes of all files', async () => {
    const files = {
      'a.yaml': unknownField,
      'b.yaml': 'kind: Nonsense\napiVersion: vmcp.dev/v1alpha1\nmetadata: {name: x}\n',
    };
    const { code, output } = await over(command, files);
    expect(output).toMatch(/a\.yaml:\d+: .*remoteUri/);
    expect(output).toMatch(/b\.yaml:\d+: .*Nonsense/);
    expect(code).toBe(2);
  });

  it('with a missing path exits with 2 and names it', async () => {
    const { code, output } = await vmcpResult(testScope(), [command, '/nowhere/to/be/found']);
    expect(output).toContain('/nowhere/to/be/found');
    expect(output).not.toMatch(STACK);
    expect(code).toBe(2);
  });

  it('with an unsupported setting exits with 2 and names it', async () => {
    const files = { 'a.yaml': yaml(group(), virtualServer({ optimizer: { maxToolsToReturn: 3 } }), remote) };
    const { code, output } = await over(command, files);
    expect(output).toMatch(/a\.yaml:\d+: VirtualMCPServer\/gateway: .*optimizer.*\[NotSupportedYet\]/);
    expect(code).toBe(2);
  });
});

describe.concurrent('the command line', () => {
  it.each([[[]], [['destroy']], [['up']], [['up', '.', '--port', 'x']], [['up', '.', '--nonsense']], [['gateway']]])(
    '%j exits with 2 and prints the usage',
    async (args) => {
      const { code, output } = await vmcpResult(testScope(), args);
      expect(output).toMatch(/vmcp/);
      expect(output).not.toMatch(STACK);
      expect(code).toBe(2);
    },
  );

  it('--help and --version exit with 0 and print to stdout', async () => {
    const help = await vmcpResult(testScope(), ['--help']);
    expect(help).toMatchObject({ code: 0, stdout: expect.stringContaining('validate') as unknown, stderr: '' });
    const version = await vmcpResult(testScope(), ['--version']);
    expect(version).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+/) as unknown });
  });

  it('validate exits with 0 for the quickstart', async () => {
    const { code, output } = await vmcpResult(testScope(), ['validate', join(root, 'examples', 'quickstart')]);
    expect({ code, output }).toMatchObject({ code: 0 });
  });
});

describe.concurrent('a port', () => {
  it.each(['--port', '--management-port'])(
    'that is in use and chosen with %s: exits with 2 and names it',
    async (flag) => {
      const scope = testScope();
      const port = await occupy(scope);
      const folder = await temporaryFolder(scope);
      await writeFiles(folder, gatewayOver([remote]));
      const other = flag === '--port' ? '--management-port' : '--port';
      const args = [
        'up',
        folder,
        '--state',
        await temporaryFolder(scope),
        flag,
        String(port),
        other,
        String(await freePort()),
      ];
      const { code, output } = await vmcpResult(scope, args);
      expect(output).toContain(String(port));
      expect(output).not.toMatch(STACK);
      expect(code).toBe(2);
    },
  );

  it('stays the same after a restart with changed files', async ({ expect }) => {
    const scope = testScope();
    const state = await temporaryFolder(scope);
    const two = {
      'all.yaml': yaml(group(), virtualServer({}, { name: 'b' }), virtualServer({}, { name: 'c' }), remote),
    };
    const three = { 'all.yaml': yaml(group(), ...['a', 'b', 'c'].map((name) => virtualServer({}, { name })), remote) };
    const table = (stdout: string): Record<string, string | undefined> => {
      const rows = stdout.matchAll(/^(?:default\/)?([abc])\s.*?:(\d+)\/mcp/gm);
      return Object.fromEntries([...rows].map(([, name = '', port]) => [name, port]));
    };
    const first = await startVmcp(scope, { files: two, state });
    await expect.poll(() => Object.keys(table(first.stdout()))).toEqual(['b', 'c']);
    const before = table(first.stdout());
    await first.stop();
    const second = await startVmcp(scope, {
      files: three,
      state,
      port: first.port,
      managementPort: first.managementPort,
    });
    await expect.poll(() => table(second.stdout())).toMatchObject(before);
  });
});

describe.concurrent('two processes', () => {
  it('on one state folder: the second exits with 2 and names the first', async () => {
    const scope = testScope();
    const first = await startVmcp(scope, { files: gatewayOver([remote]) });
    const listen = ['--port', String(await freePort()), '--management-port', String(await freePort())];
    const second = await vmcpResult(scope, ['up', first.folder, '--state', first.state, ...listen]);
    expect(second.output).toContain(String(first.pid));
    expect(second.output).not.toMatch(STACK);
    expect(second.code).toBe(2);
    expect((await raw(`${first.origin}/readyz`)).status).toBe(200);
  });

  it('one after the other: the second starts on the state folder of a killed one', async () => {
    const scope = testScope();
    const first = await startVmcp(scope, { files: gatewayOver([remote]) });
    first.signal('SIGKILL');
    await first.exited;
    const second = await startVmcp(scope, { files: gatewayOver([remote]), state: first.state });
    expect(second.running()).toBe(true);
  });
});

describe.concurrent('a server that cannot run', () => {
  it.each([['a server that crashes in a loop', npx('vmcp-fixture-crash-loop'), /cannot find my configuration/]])(
    '(%s) is reported in one message, and the others work',
    async (_what, image, message) => {
      const scope = testScope();
      const alpha = await startHttpBackend(scope, 'sdk-1-stateful', 'alpha');
      const files = gatewayOver([entry('alpha', alpha.url), server('broken', image)]);
      const vmcp = await startVmcp(scope, { files, env: await npmRegistry(scope) });
      const session = await openSession(vmcp.url);
      await session.tools();
      await eventually('the log names the reason', () =>
        vmcp
          .output()
          .split('\n')
          .some((line) => message.test(line) && line.includes('broken')),
      );
      expect(vmcp.output()).not.toMatch(STACK);
      expect(textOf(await session.call('alpha_echo', { text: 'fine' }))).toBe('fine');
      expect(vmcp.running()).toBe(true);
    },
  );

  it('because its package does not exist is logged once, shown in /status, and retried after an edit', async ({
    expect,
  }) => {
    const scope = testScope();
    const http = server('absent', 'npx://vmcp-fixture-does-not-exist', { transport: 'streamable-http' });
    const filesWith = (image: string) =>
      gatewayOver([http, server('gone', image, { args: ['alpha'] })], { operational: often });
    const files = filesWith('npx://vmcp-fixture-nor-does-this');
    const vmcp = await startVmcp(scope, { files, args: ['--watch'], env: await npmRegistry(scope) });
    const lines = (part: string) =>
      vmcp
        .output()
        .split('\n')
        .filter((line) => line.includes(part));
    const problems = async () =>
      (JSON.parse((await raw(`${vmcp.management}/status`)).body) as { problems: { path: string }[] }).problems;
    const problem = (backend: string, wanted: string) => ({
      reason: 'PackageNotFound',
      path: `vmcp.backends.${backend}`,
      message: `backend "${backend}" cannot be started: npm has no package ${wanted}@latest: check its name and version`,
    });
    await eventually('both were probed several times', async () => {
      const { body } = await raw(`${vmcp.management}/api/backends/health`);
      const { backends } = JSON.parse(body) as { backends: Record<string, { consecutive_failures: number }> };
      return Object.values(backends).every(({ consecutive_failures: failures }) => failures >= 4);
    });
    await expect
      .poll(problems, { timeout: 60_000 })
      .toEqual([problem('absent', 'vmcp-fixture-does-not-exist'), problem('gone', 'vmcp-fixture-nor-does-this')]);
    await expect.poll(() => lines('npm has no package vmcp-fixture-does-not-exist')).toHaveLength(1);
    await expect.poll(() => lines('npm has no package vmcp-fixture-nor-does-this')).toHaveLength(1);
    expect(vmcp.output()).not.toMatch(/npm (error|ERR)|E404/);
    const installs = lines('installing package');
    expect(installs.filter((line) => line.includes('does-not-exist'))).toHaveLength(1);

    await writeFiles(vmcp.folder, filesWith(npx('vmcp-fixture')));
    const session = await openSession(vmcp.url);
    await eventually('the corrected server is listed', async () => (await session.tools()).includes('gone_echo'));
    await eventually('the other one is retried', () => lines('installing package').length >= installs.length + 2);
    const paths = async () => (await problems()).map(({ path }) => path);
    await expect.poll(paths).toEqual(['vmcp.backends.absent']);
  });

  it('(HTTP, crashes in a loop) is restarted with growing pauses, and the others work', async () => {
    const scope = testScope();
    const alpha = await startHttpBackend(scope, 'sdk-1-stateful', 'alpha');
    const broken = server('broken', npx('vmcp-fixture-crash-loop'), { transport: 'streamable-http' });
    const vmcp = await startVmcp(scope, {
      files: gatewayOver([entry('alpha', alpha.url), broken]),
      env: await npmRegistry(scope),
    });
    const crashes = () =>
      vmcp
        .output()
        .split('\n')
        .filter((line) => line.includes('broken') && line.includes('cannot find my configuration'));
    await eventually('it crashed three times', () => crashes().length >= 3, { timeoutMs: 60_000 });
    expect(textOf(await (await openSession(vmcp.url)).call('alpha_echo', { text: 'fine' }))).toBe('fine');
  });

  it('because there is no engine for its OCI image is reported', async () => {
    const scope = testScope();
    const tools = await temporaryFolder(scope);
    for (const tool of ['dirname', 'readlink']) await symlink(`/usr/bin/${tool}`, join(tools, tool));
    const folder = await temporaryFolder(scope);
    await writeFiles(folder, gatewayOver([server('boxed', 'ghcr.io/example/server:1'), remote]));
    const listen = ['--port', String(await freePort()), '--management-port', String(await freePort())];
    const args = ['up', folder, '--state', await temporaryFolder(scope), ...listen];
    const run = await runVmcp(scope, args, { env: { PATH: tools, DOCKER_HOST: 'unix:///nowhere' } });
    const said = () =>
      run
        .output()
        .split('\n')
        .some((line) => line.includes('NoContainerEngine') && line.includes('boxed'));
    await eventually('the missing engine is named', said).catch((error: unknown) => {
      throw new Error(run.output(), { cause: error });
    });
    expect(run.output()).not.toMatch(STACK);
  });
});

describe.concurrent('several virtual servers in one folder', () => {
  it('run although one of them has a mistake, which is reported', async ({ expect }) => {
    const wrong = virtualServer({}, { name: 'wrong', groupName: 'nobody' });
    const vmcp = await startVmcp(testScope(), { files: { 'all.yaml': yaml(group(), virtualServer(), wrong, remote) } });
    await expect.poll(vmcp.output).toMatch(/VirtualMCPServer\/wrong: .*\[GroupRefNotFound\]/);
    await expect.poll(vmcp.stdout).toContain(vmcp.url);
  });
});

describe.concurrent('vmcp render and vmcp gateway', () => {
  it('render a configuration without secret values that a gateway can run', async () => {
    const scope = testScope();
    const alpha = await startHttpBackend(scope, 'sdk-1-stateful', 'alpha');
    const headerForward = {
      addHeadersFromSecret: [{ headerName: 'X-Key', valueSecretRef: { name: 'keys', key: 'k' } }],
    };
    const withSecret = {
      'all.yaml': yaml(
        group(),
        virtualServer(),
        entry('alpha', alpha.url, 'streamable-http', { headerForward }),
        secret('keys', { k: 'canary-value' }),
      ),
    };
    const rendered = await over('render', withSecret);
    expect(rendered.code).toBe(0);
    expect(rendered.output).not.toContain('canary-value');
    expect(JSON.parse(rendered.stdout)).toMatchObject({ vmcp: { backends: [{ name: 'alpha' }] } });

    const plain = await over('render', gatewayOver([entry('alpha', alpha.url)]));
    const gateway = await startGateway(scope, plain.stdout);
    expect(textOf(await (await openSession(gateway.url)).call('alpha_echo', { text: 'hi' }))).toBe('hi');
  });

  it.each([
    ['no JSON', '{'],
    ['an unknown schema version', '{"schema_version":"v99"}'],
    ['an unknown member', '{"schema_version":"v0.1.0","nonsense":1}'],
  ])('gateway with %s exits with 2 and one line for each mistake', async (_what, config) => {
    const scope = testScope();
    const folder = await temporaryFolder(scope);
    await writeFiles(folder, { 'gateway.json': config });
    const { code, output } = await vmcpResult(scope, [
      'gateway',
      '--config',
      join(folder, 'gateway.json'),
      '--port',
      String(await freePort()),
    ]);
    expect(output).toContain('gateway.json');
    expect(output).not.toMatch(STACK);
    expect(code).toBe(2);
  });
});
