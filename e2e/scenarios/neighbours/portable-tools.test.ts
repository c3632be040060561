import { beforeAll, expect, it } from 'vitest';
import { startMcpServer, type Members } from '../../faults/mcp-server.ts';
import { openSession, raw } from '../../harness/clients/raw.ts';
import { entry, group, virtualServer, yaml } from '../../harness/manifests.ts';
import { eventually } from '../../harness/poll.ts';
import { blockScope, testScope } from '../../harness/scope.ts';
import { startVmcp, vmcpResult, type Vmcp } from '../../harness/vmcp.ts';

/** A name as the AWS servers have it, with the prefix that their README suggests over 64 characters. */
const LONG = 'describe_cross_account_attachment_network_analyzer_configuration';
const BACKEND = 'awslabs-core';
/** Schema as pydantic writes it. */
const inputSchema = {
  type: 'object',
  properties: { filter: { $ref: '#/$defs/Filter' }, tags: { type: 'array' }, limit: { type: ['integer', 'null'] } },
  $defs: { Filter: { type: 'object', properties: { name: { const: 'x' } }, additionalProperties: false } },
};
const outputSchema = { type: 'object', properties: { rows: { type: ['array', 'null'] } } };
const scope = blockScope();
let vmcp: Vmcp;
let received: Members | undefined;

beforeAll(async () => {
  const backend = await startMcpServer(scope, 'aws', {
    methods: {
      'tools/list': ({ result }) => {
        result({ tools: [{ name: LONG, description: 'd', inputSchema, outputSchema }] });
      },
      'tools/call': ({ message, result }) => {
        received = message.params;
        result({ content: [], structuredContent: { rows: [] } });
      },
    },
  });
  const portable = { aggregation: { maxToolNameLength: 64, portableSchemas: true } };
  const servers = [virtualServer({}, { name: 'plain' }), virtualServer(portable, { name: 'portable' })];
  vmcp = await startVmcp(scope, { files: { 'all.yaml': yaml(group(), ...servers, entry(BACKEND, backend.url)) } });
});

const run = (...args: string[]) => vmcpResult(testScope(), [...args, '--state', vmcp.state]);

async function urlOf(name: string): Promise<string> {
  const { stdout } = await eventually(`the URL of ${name} is shown`, async () => {
    const result = await run('status');
    return result.stdout.includes(`/${name}  http`) && result;
  });
  return new RegExp(`/${name} {2}(\\S+)`, 'u').exec(stdout)?.[1] ?? '';
}

it('vmcp tools --check, vmcp status and vmcp doctor name the tools that model APIs reject', async () => {
  const [plain, portable] = await Promise.all(
    ['plain', 'portable'].map((name) => run('tools', '--check', '-o', 'json', '--name', name)),
  );
  const check = JSON.parse(plain?.stdout ?? '') as { families: { family: string; findings: { id: string }[] }[] };
  expect(check.families.map(({ family, findings }) => [family, findings.map(({ id }) => id)])).toEqual([
    ['OpenAI', ['openai-name-length', 'openai-items']],
    ['Anthropic', ['anthropic-ref']],
    ['Gemini', ['gemini-name-length', 'gemini-ref', 'gemini-keyword', 'gemini-items', 'gemini-type']],
  ]);
  expect([plain?.code, portable?.code]).toEqual([1, 0]);
  const [status, doctor] = await Promise.all([run('status'), run('doctor')]);
  expect(status.stdout).toContain(
    `models of OpenAI may be refused: 1 tool with a name over 64 characters ("${BACKEND}_`,
  );
  expect(doctor.stdout).toMatch(/^warn {2}tools .*models of Gemini may be refused/mu);
  expect(vmcp.output()).not.toMatch(/(warn|error).*ToolsNotPortable/u);
});

it('a shortened tool with a portable schema is called under both names, with the same arguments', async () => {
  const session = await openSession(await urlOf('portable'));
  const { result } = await session.request('tools/list', {});
  const [tool] = (result as { tools: Members[] }).tools;
  const name = String(tool?.['name']);
  expect(name).toMatch(new RegExp(`^${BACKEND}_describe_.*_[0-9a-f]{8}$`, 'u'));
  expect(name).toHaveLength(64);
  expect(tool).toMatchObject({ outputSchema, description: 'd' });
  expect(tool?.['inputSchema']).toEqual({
    type: 'object',
    properties: {
      filter: { type: 'object', properties: { name: { type: 'string', enum: ['x'] } } },
      tags: { type: 'array', items: { type: 'string' } },
      limit: { type: 'integer', nullable: true },
    },
  });
  const args = { filter: { name: 'x' }, tags: [1, { a: null }], limit: null, more: true };
  for (const called of [name, `${BACKEND}_${LONG}`]) {
    received = undefined;
    expect((await session.call(called, args)).error).toBeUndefined();
    expect(received).toMatchObject({ name: LONG, arguments: args });
  }
});

it('/status gives advice once for each family of clients', async () => {
  const { body } = await raw(`${vmcp.management}/status`);
  const { servers } = JSON.parse(body) as { servers: { name: string; problems: { reason: string }[] }[] };
  const reasons = servers.map(({ name, problems }) => [name, problems.map(({ reason }) => reason)]);
  expect(Object.fromEntries(reasons)).toEqual({
    plain: Array.from({ length: 3 }, () => 'ToolsNotPortable'),
    portable: [],
  });
});
