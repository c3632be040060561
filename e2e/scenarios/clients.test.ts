import { beforeAll, describe, expect, it } from 'vitest';
import { startHttpBackend } from '../harness/backends/http.ts';
import { PAGED_TOOLS, pagedUris } from '../harness/backends/paged.ts';
import type { Step, Transcript } from '../harness/clients/client.ts';
import { CLIENTS, SESSION_TELLERS, SSE_CLIENTS } from '../harness/clients/index.ts';
import { openSession, raw, MCP_HEADERS, rpc } from '../harness/clients/raw.ts';
import { entry, gatewayOver, server } from '../harness/manifests.ts';
import { npmRegistry, npx, PYTHON_PACKAGE, pythonIndex } from '../harness/packages.ts';
import { hasPython, startPythonBackend } from '../harness/python.ts';
import { blockScope } from '../harness/scope.ts';
import { expectTour, names, tourSteps } from '../harness/tour.ts';
import { startVmcp, type Vmcp } from '../harness/vmcp.ts';
import { eventually } from '../harness/poll.ts';

/** Descriptions of the backends by name. Each fixture has the name of its backend, and its tools the prefix `<name>_`. */
const BACKENDS = {
  stateful: 'SDK 1.x over streamable HTTP, with sessions',
  stateless: 'SDK 1.x over streamable HTTP, without sessions',
  sse: 'SDK 1.x over HTTP+SSE',
  second: 'SDK 2.x over streamable HTTP',
  stdio: 'SDK 1.x over stdio',
  'stdio-second': 'SDK 2.x over stdio',
  'run-http': 'SDK 1.x over streamable HTTP, run by vmcp',
  'run-sse': 'SDK 1.x over HTTP+SSE, run by vmcp',
  ...(hasPython && { python: 'Python over streamable HTTP', 'stdio-python': 'Python over stdio' }),
};

const scope = blockScope();
let vmcp: Vmcp;

async function startEverything(): Promise<Vmcp> {
  const http = async (kind: Parameters<typeof startHttpBackend>[1], name: string, transport = 'streamable-http') =>
    entry(name, (await startHttpBackend(scope, kind, name)).url, transport);
  const args = (name: string) => ({ args: [name] });
  const backends = [
    await http('sdk-1-stateful', 'stateful'),
    await http('sdk-1-stateless', 'stateless'),
    await http('sdk-1-sse', 'sse', 'sse'),
    await http('sdk-2', 'second'),
    await http('sdk-1-paged', 'paged'),
    server('stdio', npx('vmcp-fixture'), args('stdio')),
    server('stdio-second', npx('vmcp-fixture-v2'), args('stdio-second')),
    server('run-http', npx('vmcp-fixture-http'), { ...args('run-http'), transport: 'streamable-http' }),
    server('run-sse', npx('vmcp-fixture-sse'), { ...args('run-sse'), transport: 'sse' }),
  ];
  if (hasPython) {
    backends.push(entry('python', await startPythonBackend(scope, 'python')));
    backends.push(server('stdio-python', `uvx://${PYTHON_PACKAGE}`, args('stdio-python')));
  }
  const env = { ...(await npmRegistry(scope)), ...(hasPython && (await pythonIndex(scope))) };
  const started = await startVmcp(scope, { files: gatewayOver(backends), env });
  await eventually(
    'every backend is listed',
    async () => {
      const session = await openSession(started.url);
      const tools = await session.tools();
      await session.end();
      return [...Object.keys(BACKENDS), 'paged'].every((name) => tools.some((tool) => tool.startsWith(`${name}_`)));
    },
    { timeoutMs: 100_000, intervalMs: 500 },
  ).catch((error: unknown) => {
    throw new Error(`not every backend is listed:\n${started.output()}`, { cause: error });
  });
  return started;
}

beforeAll(async () => {
  vmcp = await startEverything();
});

const tourOf = (name: string) => ({ fixture: name, prefix: `${name}_` });
const lists: Step[] = [{ op: 'tools' }, { op: 'resources' }, { op: 'templates' }, { op: 'prompts' }];

const WAYS_IN = [
  ...CLIENTS.map(([name, run]) => [name, 'streamable HTTP', run, '/mcp'] as const),
  ...SSE_CLIENTS.map(([name, run]) => [name, 'HTTP+SSE', run, '/sse'] as const),
];

describe.each(WAYS_IN)('%s over %s', (_name, _endpoint, run, path) => {
  const transcripts = new Map<string, Transcript>();

  beforeAll(async () => {
    const tours = Object.keys(BACKENDS).map((name) => ({ name, steps: tourSteps(tourOf(name)) }));
    const steps = [...lists, ...tours.flatMap((tour) => tour.steps)];
    const whole = await run({ transport: path === '/sse' ? 'sse' : 'streamable-http', url: vmcp.origin + path }, steps);
    transcripts.set('lists', { ...whole, outcomes: whole.outcomes.slice(0, lists.length) });
    let from = lists.length;
    for (const { name, steps: own } of tours) {
      transcripts.set(name, { ...whole, outcomes: whole.outcomes.slice(from, (from += own.length)) });
    }
  });

  it.each(Object.entries(BACKENDS))('uses every feature of %s (%s)', (name) => {
    expectTour(transcripts.get(name)!, tourOf(name));
  });

  it('gets the name and the capabilities of the gateway', () => {
    const { initialize } = transcripts.get('lists')!;
    expect(initialize.serverInfo).toMatchObject({
      name: expect.stringContaining('vmcp') as unknown,
      version: expect.any(String) as unknown,
    });
    expect(initialize.capabilities).toMatchObject({
      tools: { listChanged: true },
      prompts: {},
      resources: {},
      completions: {},
    });
  });

  it('lists every page of a backend that serves two items a page', () => {
    const [tools, resources, templates, prompts] = transcripts
      .get('lists')!
      .outcomes.map((outcome) => names(outcome.ok ? outcome.result : []));
    expect(tools).toEqual(expect.arrayContaining(PAGED_TOOLS.map((tool) => `paged_${tool}`)));
    expect(resources).toEqual(expect.arrayContaining(pagedUris('paged')));
    expect(templates).toEqual(expect.arrayContaining(pagedUris('paged')));
    expect(prompts).toEqual(expect.arrayContaining(PAGED_TOOLS.map((tool) => `paged_${tool}`)));
  });
});

it.each(SESSION_TELLERS)('%s ends its session with DELETE', async (_name, run) => {
  const { sessionId } = await run({ transport: 'streamable-http', url: vmcp.url }, [{ op: 'ping' }]);
  const headers = { ...MCP_HEADERS, 'mcp-session-id': sessionId ?? 'none was given' };
  const answer = await raw(vmcp.url, { method: 'POST', headers, body: rpc('tools/list') });
  expect({ status: answer.status, sessionId }).toEqual({ status: 404, sessionId: expect.any(String) as unknown });
});

it.each(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])(
  'a client of %s completes a session',
  async (revision) => {
    const session = await openSession(vmcp.url, revision);
    expect(session.initialized.result).toMatchObject({ protocolVersion: revision });
    expect(await session.tools()).toContain('stateful_echo');
    expect((await session.call('stateful_echo', { text: 'hi' })).result).toMatchObject({ content: [{ text: 'hi' }] });
    expect([200, 204]).toContain((await session.end()).status);
    expect((await session.post(rpc('tools/list'))).status).toBe(404);
  },
);

it('offers the latest revision to a client of an unknown revision', async () => {
  const session = await openSession(vmcp.url, '2030-01-01').catch((error: unknown) => error);
  expect(session).toMatchObject({ initialized: { result: { protocolVersion: '2025-11-25' } } });
});
