import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { startHttpBackend } from './backends/http.ts';
import { PAGED_TOOLS, pagedUris } from './backends/paged.ts';
import type { Target } from './clients/client.ts';
import { CLIENTS } from './clients/index.ts';
import { inspect } from './clients/inspector.ts';
import { sdkV1 } from './clients/sdk-v1.ts';
import { eventually } from './poll.ts';
import { hasPython, python, pythonServer, startPythonBackend } from './python.ts';
import { testScope } from './scope.ts';
import { expectTour, names, tourSteps } from './tour.ts';

const serve = join(dirname(fileURLToPath(import.meta.url)), 'backends', 'serve.ts');
const stdio = (kind: string): Target => ({
  transport: 'stdio',
  command: process.execPath,
  args: [serve, kind, 'alpha'],
});
const tour = { fixture: 'alpha', prefix: '' };

/** Each client reaches each server directly: this checks the fixtures themselves. The Python client runs in its default mode. */
describe.each(CLIENTS.filter(([name]) => name !== 'Python mcp'))('%s', (_name, run) => {
  it.each(['sdk-1-stateful', 'sdk-1-stateless', 'sdk-2'] as const)('tours %s over streamable HTTP', async (kind) => {
    const { url } = await startHttpBackend(testScope(), kind, 'alpha');
    expectTour(await run({ transport: 'streamable-http', url }, tourSteps(tour)), tour);
  });

  it('tours sdk-1-sse over HTTP+SSE', async () => {
    const { url } = await startHttpBackend(testScope(), 'sdk-1-sse', 'alpha');
    expectTour(await run({ transport: 'sse', url }, tourSteps(tour)), tour);
  });

  it.each(['stdio-sdk-1', 'stdio-sdk-2'])('tours %s', async (kind) => {
    expectTour(await run(stdio(kind), tourSteps(tour)), tour);
  });

  it.runIf(hasPython)('tours the Python server over streamable HTTP', async () => {
    const url = await startPythonBackend(testScope(), 'alpha');
    expectTour(await run({ transport: 'streamable-http', url }, tourSteps(tour)), tour);
  });

  it.runIf(hasPython)('tours the Python server over stdio', async () => {
    const target = { transport: 'stdio', command: await python(), args: [pythonServer, 'alpha'] } as const;
    expectTour(await run(target, tourSteps(tour)), tour);
  });

  it('reads every page of a server that serves two items a page', async () => {
    const { url } = await startHttpBackend(testScope(), 'sdk-1-paged', 'alpha');
    const lists = [{ op: 'tools' }, { op: 'resources' }, { op: 'templates' }, { op: 'prompts' }] as const;
    const { outcomes } = await run({ transport: 'streamable-http', url }, lists);
    const [tools, resources, templates, prompts] = outcomes.map((outcome) => names(outcome.ok ? outcome.result : []));
    expect({ tools, resources, templates, prompts }).toEqual({
      tools: PAGED_TOOLS,
      resources: pagedUris('alpha'),
      templates: pagedUris('alpha'),
      prompts: PAGED_TOOLS,
    });
  });
});

it('the Inspector lists and calls tools', async () => {
  const { url } = await startHttpBackend(testScope(), 'sdk-1-stateful', 'alpha');
  expect(await inspect(url, 'tools/list')).toMatchObject({
    tools: expect.arrayContaining([expect.objectContaining({ name: 'echo' })]) as unknown,
  });
  const called = await inspect(url, 'tools/call', '--tool-name', 'echo', '--tool-arg', 'text=hi');
  expect(called).toMatchObject({ content: [{ type: 'text', text: 'hi' }] });
});

describe('an HTTP backend', () => {
  it('refuses connections after a crash and serves again on the same port', async () => {
    const backend = await startHttpBackend(testScope(), 'sdk-1-stateful', 'alpha');
    const target = { transport: 'streamable-http', url: backend.url } as const;
    await backend.crash();
    await expect(sdkV1(target, [])).rejects.toThrow('fetch failed');
    await backend.recover();
    expect((await sdkV1(target, [{ op: 'ping' }])).outcomes).toEqual([{ ok: true, result: {} }]);
  });

  it('applies a fault to the chosen method only', async () => {
    const backend = await startHttpBackend(testScope(), 'sdk-1-stateless', 'alpha');
    backend.fault = (method) => (method === 'tools/call' ? 'status-500' : undefined);
    const steps = [{ op: 'ping' }, { op: 'call', name: 'echo', args: { text: 'hi' } }] as const;
    const { outcomes } = await sdkV1({ transport: 'streamable-http', url: backend.url }, steps);
    expect(outcomes).toMatchObject([{ ok: true }, { ok: false, code: 500 }]);
    await eventually('no request is running', () => backend.running() === 0);
    expect(backend.seen.map(({ method }) => method)).toContain('tools/call');
  });
});
