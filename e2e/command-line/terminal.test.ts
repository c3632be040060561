import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { startHttpBackend } from '../harness/backends/http.ts';
import { freePort } from '../harness/free-port.ts';
import { entry, gatewayOver, server } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { testScope } from '../harness/scope.ts';
import { startVmcp, temporaryFolder, type RunOptions } from '../harness/vmcp.ts';
import { publishStalled, SCRIPTED } from '../workloads/scripted-server.ts';

/** Starts a gateway over a backend that does not run, and returns the lines about it. */
async function linesAboutAbsent(options: RunOptions & { args?: string[] }): Promise<() => string[]> {
  const files = gatewayOver([entry('absent', `http://127.0.0.1:${String(await freePort())}/mcp`)]);
  const vmcp = await startVmcp(testScope(), { files, ...options });
  return () =>
    vmcp
      .output()
      .split(/\r?\n/u)
      .filter((line) => line.includes('does not answer'));
}

const TEXT = /^\d\d:\d\d:\d\d {2}WARN {3}absent {8}backend does not answer {2}reason=\w+ .*server=\w+$/u;
const JSON_LINE = /^\{"message":"backend does not answer","timestamp":"[^"]+","level":"warn",.*"backend":"absent"/u;

describe('the log', () => {
  it('is text in colours on a terminal', async () => {
    const lines = await linesAboutAbsent({ terminal: true, env: { TERM: 'xterm-256color' } });
    await expect.poll(() => lines().map(stripVTControlCharacters)).toContainEqual(expect.stringMatching(TEXT));
    expect(lines()[0]).toContain('\u001b[33mWARN');
  });

  it.each([
    ['with NO_COLOR', { TERM: 'xterm-256color', NO_COLOR: '1' }],
    ['on a terminal without colours', { TERM: 'dumb' }],
  ])('is plain text %s', async (_, env) => {
    const lines = await linesAboutAbsent({ terminal: true, env });
    await expect.poll(lines).toContainEqual(expect.stringMatching(TEXT));
  });

  it('is JSON in a pipe', async () => {
    const lines = await linesAboutAbsent({});
    await expect.poll(lines).toContainEqual(expect.stringMatching(JSON_LINE));
  });

  it.each([
    ['text', false, TEXT],
    ['json', true, JSON_LINE],
  ] as const)('is %s with --log-format', async (format, terminal, shape) => {
    const options = { terminal, args: ['--log-format', format], env: { TERM: 'xterm', NO_COLOR: '1' } };
    const lines = await linesAboutAbsent(options);
    await expect.poll(lines).toContainEqual(expect.stringMatching(shape));
  });
});

describe('the start of vmcp up', () => {
  it('shows an installation on a terminal in one line that is updated in place', async () => {
    const scope = testScope();
    const stalled = await publishStalled(scope, (path) => path === '/scripted-server-1.0.0.tgz');
    const env = { ...stalled.env, npm_config_cache: await temporaryFolder(scope), TERM: 'xterm' };
    const vmcp = await startVmcp(scope, { files: gatewayOver([server('local', SCRIPTED)]), env, terminal: true });
    const updated = '\u001b[1A\u001b[Jlocal: installing, 1 s';
    await eventually('the line is updated', () => vmcp.output().includes(updated), { timeoutMs: 20_000 });
    expect(vmcp.output()).not.toContain('still installing');
  });

  it('ends with a line that counts servers and tools', async () => {
    const scope = testScope();
    const backend = await startHttpBackend(scope, 'sdk-1-stateful', 'remote');
    const files = gatewayOver([entry('remote', backend.url)]);
    const vmcp = await startVmcp(scope, { files });
    const line = /"message":"servers have started",.*"servers":1,"ready":1,"tools":10,"seconds":\d+/u;
    await eventually('the line is printed', () => line.test(vmcp.output()));
    const onTerminal = await startVmcp(scope, { files, env: { TERM: 'xterm' }, terminal: true });
    const sentence = /\n1 server ready, 10 tools, \d+ s\./u;
    await eventually('the sentence is printed', () => sentence.test(onTerminal.output()));
  });
});
