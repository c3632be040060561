import { beforeAll, describe, expect, it } from 'vitest';
import { TOOLS } from '../harness/backends/fixture.ts';
import { startHttpBackend } from '../harness/backends/http.ts';
import { PAGED_TOOLS } from '../harness/backends/paged.ts';
import type { HttpBackend } from '../harness/backends/host.ts';
import { openSession } from '../harness/clients/raw.ts';
import { entry, group, virtualServer, yaml } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { blockScope, testScope, type Scope } from '../harness/scope.ts';
import { startVmcp, type Vmcp } from '../harness/vmcp.ts';

const BACKENDS = ['alpha', 'beta', 'gamma'];
/** Two backends with the same five tools, in a separate group. */
const PAGED = ['first', 'second'];
const PAGES = 'pages';
/** Delays of the backends in ms, one list for each order in which they can answer. */
const DELAYS = [
  [0, 80, 160],
  [0, 160, 80],
  [80, 0, 160],
  [160, 0, 80],
  [80, 160, 0],
  [160, 80, 0],
];
const scope = blockScope();
let backends: HttpBackend[];
let paged: HttpBackend[];

beforeAll(async () => {
  backends = await Promise.all(BACKENDS.map((name) => startHttpBackend(scope, 'sdk-1-stateless', name)));
  paged = await Promise.all(PAGED.map((name) => startHttpBackend(scope, 'sdk-1-paged', name)));
});

interface Case {
  readonly aggregation: Readonly<Record<string, unknown>>;
  /** Group; that of `BACKENDS` by default. */
  readonly groupName?: string;
  readonly expected: readonly string[];
}

const sorted = (names: readonly string[]) => [...names].sort();
const prefixed = (separator: string) =>
  sorted(BACKENDS.flatMap((name) => TOOLS.map((tool) => name + separator + tool)));
const renamed = { name: 'renamed', description: 'Has another name.' };
const settled = Object.fromEntries(
  PAGED_TOOLS.map((tool) => [tool, tool === 'page_1' ? renamed : { name: `other_${tool}` }]),
);

/** Gateways by name. */
const GATEWAYS: Readonly<Record<string, Case>> = {
  prefix: { aggregation: {}, expected: prefixed('_') },
  'prefix-dot': {
    aggregation: { conflictResolution: 'prefix', conflictResolutionConfig: { prefixFormat: '{workload}.' } },
    expected: prefixed('.'),
  },
  priority: {
    aggregation: { conflictResolution: 'priority', conflictResolutionConfig: { priorityOrder: ['beta', 'alpha'] } },
    expected: sorted(TOOLS), // beta owns every name; alpha lost, gamma is not on the list
  },
  manual: {
    groupName: PAGES,
    aggregation: { conflictResolution: 'manual', tools: [{ workload: 'second', overrides: settled }] },
    expected: sorted([...PAGED_TOOLS, 'renamed', ...PAGED_TOOLS.slice(1).map((tool) => `other_${tool}`)]),
  },
  'manual-filtered': {
    groupName: PAGES,
    aggregation: {
      conflictResolution: 'manual',
      tools: [
        { workload: 'first', filter: ['page_2', 'page_3'] },
        { workload: 'second', filter: ['page_1'], overrides: settled },
      ],
    },
    expected: ['page_2', 'page_3', 'renamed'],
  },
  'manual-unsettled': {
    groupName: PAGES,
    aggregation: { conflictResolution: 'manual', tools: [{ workload: 'first' }] },
    expected: [],
  },
  'none-unsettled': { groupName: PAGES, aggregation: { conflictResolution: 'none' }, expected: [] },
  deny: {
    aggregation: { defaultToolVisibility: 'deny', tools: [{ workload: 'beta', filter: ['add', 'echo'] }] },
    expected: ['beta_add', 'beta_echo'],
  },
  'exclude-one': {
    aggregation: { tools: [{ workload: 'alpha', excludeAll: true }] },
    expected: prefixed('_').filter((name) => !name.startsWith('alpha_')),
  },
  'exclude-all': { aggregation: { excludeAllTools: true }, expected: [] },
};

function manifests(names: readonly string[]): Record<string, string> {
  const gateways = names.map((name) => {
    const { aggregation, groupName } = GATEWAYS[name]!;
    return virtualServer({ aggregation }, { name, ...(groupName !== undefined && { groupName }) });
  });
  const own = BACKENDS.map((name, at) => entry(name, backends[at]!.url));
  const inPages = { groupRef: { name: PAGES } };
  const pages = PAGED.map((name, at) => entry(name, paged[at]!.url, 'streamable-http', inPages));
  return { 'all.yaml': yaml(group(), group(PAGES), ...gateways, ...own, ...pages) };
}

const start = (where: Scope, ...names: string[]) => startVmcp(where, { files: manifests(names) });

/** Returns the MCP URL of a gateway, from the table that `vmcp up` prints. */
async function urlOf(vmcp: Vmcp, name: string): Promise<string> {
  const line = new RegExp(`(?:^|[\\s/])${name}\\s.*?(http://\\S+/mcp)\\b`, 'm');
  return eventually(`the URL of ${name} is printed`, () => line.exec(vmcp.stdout())?.[1], { timeoutMs: 10_000 });
}

describe('tool names', () => {
  let vmcp: Vmcp;
  beforeAll(async () => {
    vmcp = await start(scope, ...Object.keys(GATEWAYS));
  });

  it.each(Object.keys(GATEWAYS))('under %s are exactly the expected ones, sorted', async (name) => {
    const session = await openSession(await urlOf(vmcp, name));
    expect(await session.tools()).toEqual(GATEWAYS[name]!.expected);
  });

  it('call the backend that owns the name', async () => {
    const owner = async (gateway: string, tool: string, args = {}) => {
      const session = await openSession(await urlOf(vmcp, gateway));
      return (await session.call(tool, args)).result;
    };
    expect(await owner('prefix', 'gamma_whoami')).toMatchObject({
      content: [{ text: expect.stringMatching(/^gamma /) as unknown }],
    });
    expect(await owner('priority', 'whoami')).toMatchObject({
      content: [{ text: expect.stringMatching(/^beta /) as unknown }],
    });
    expect(await owner('manual', 'renamed')).toMatchObject({ content: [{ text: 'called page_1' }] });
    expect(paged[1]!.seen.filter(({ method }) => method === 'tools/call')).toHaveLength(1);
  });

  it('have the name and description of an override, and the schema of the backend', async () => {
    const session = await openSession(await urlOf(vmcp, 'manual'));
    const { result } = await session.request('tools/list');
    const tools = result?.['tools'] as { name: string }[];
    expect(tools.find(({ name }) => name === 'renamed')).toEqual({ ...renamed, inputSchema: { type: 'object' } });
  });

  it.each(['manual-unsettled', 'none-unsettled'])('under %s: the log names the tool and both owners', async (name) => {
    const lines = () =>
      vmcp
        .stderr()
        .split('\n')
        .filter((line) => line.includes(`"${name}"`) && line.includes('ConflictUnresolved'));
    const line = await eventually('the conflict is logged', () => lines()[0]);
    expect(line).toMatch(/page_1/);
    expect(line).toMatch(/first.*second|second.*first/);
  });

  it.each([
    ['prefix', 'echo', 'a bare name'],
    ['prefix', 'alpha_nothing', 'a name that no backend has'],
    ['manual-filtered', 'page_1', 'a tool that the filter hides'],
    ['manual-filtered', 'other_page_2', 'a renamed tool that the filter hides'],
    ['exclude-one', 'alpha_echo', 'a tool of a backend that is excluded'],
    ['deny', 'alpha_echo', 'a tool of a backend that is denied'],
    ['exclude-all', 'alpha_echo', 'any tool when all are excluded'],
  ])('under %s make %s unknown: %s', async (gateway, tool) => {
    const callsSeen = () =>
      [...backends, ...paged].flatMap(({ seen }) => seen.filter(({ method }) => method === 'tools/call')).length;
    const seenBefore = callsSeen();
    const session = await openSession(await urlOf(vmcp, gateway));
    const { error } = await session.call(tool, { text: 'x' });
    expect(error).toMatchObject({ code: -32602 });
    const unknown = (await session.call('certainly-not-a-tool', {})).error;
    expect(error?.message.replaceAll(tool, '*')).toBe(unknown?.message.replaceAll('certainly-not-a-tool', '*'));
    expect(callsSeen()).toBe(seenBefore);
  });
});

it.each(['manual-unsettled', 'none-unsettled'])(
  'under %s the owner does not depend on the order of answers',
  async (name) => {
    for (const late of paged) {
      late.delayMs = 300; // for each of its pages
      const vmcp = await start(testScope(), name);
      const session = await openSession(await urlOf(vmcp, name));
      const early = await session.tools();
      await eventually('the conflict is logged', () => vmcp.stderr().includes('ConflictUnresolved'));
      const settledOn = await session.tools();
      late.delayMs = 0;
      expect({ early, settledOn }).toEqual({ early: [], settledOn: [] });
      await vmcp.stop();
    }
  },
);

it('the same tools, names and order, in whichever order the backends answer', async () => {
  const lists: string[][] = [];
  for (const delays of DELAYS) {
    for (const [at, backend] of backends.entries()) backend.delayMs = delays[at]!;
    const vmcp = await start(testScope(), 'prefix', 'priority');
    for (const name of ['prefix', 'priority']) {
      const session = await openSession(await urlOf(vmcp, name));
      lists.push([name, ...(await session.tools())]);
    }
    await vmcp.stop();
  }
  for (const backend of backends) backend.delayMs = 0;
  const expected = DELAYS.flatMap(() => [
    ['prefix', ...GATEWAYS['prefix']!.expected],
    ['priority', ...GATEWAYS['priority']!.expected],
  ]);
  expect(lists).toEqual(expected);
});
