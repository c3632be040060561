import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills';
import { beforeAll, describe, expect, it } from 'vitest';
import { runConformance } from '../../conformance/runner.ts';
import type { HttpBackend } from '../../harness/backends/host.ts';
import { startMcpServer } from '../../faults/mcp-server.ts';
import { openSession } from '../../harness/clients/raw.ts';
import { entry, gatewayOver } from '../../harness/manifests.ts';
import { eventually } from '../../harness/poll.ts';
import { blockScope, testScope, type Scope } from '../../harness/scope.ts';
import { startVmcp } from '../../harness/vmcp.ts';
import { REVISION, send } from './testdata/modern-request.ts';
import { startSkillServer } from './testdata/skill-server.ts';

const SCENARIOS = ['sep-2640-skills-enumeration', 'sep-2640-skills-manifest', 'sep-2640-skills-directory'];

const scope = blockScope();
let alpha: HttpBackend;
let beta: HttpBackend;
let url: string;

beforeAll(async () => {
  alpha = await startSkillServer(scope, ['pdf-forms', 'notes']);
  beta = await startSkillServer(scope, ['pdf-forms'], { prefix: 'acme' });
  const backends = [entry('alpha', alpha.url), entry('beta', beta.url)];
  ({ url } = await startVmcp(scope, { files: gatewayOver(backends) }));
  await eventually('the skills are listed', async () => (await uris(await connect(scope, url))).length === 3);
});

async function connect(owner: Scope, to: string): Promise<Client> {
  const client = new Client({ name: 'host', version: '1.0.0' }, { versionNegotiation: { mode: { pin: REVISION } } });
  await client.connect(new StreamableHTTPClientTransport(new URL(to)));
  owner.defer(() => client.close());
  return client;
}

const uris = async (client: Client): Promise<string[]> =>
  (await new SkillsClient(client).list()).skills.map(({ uri }) => uri);

const LISTED = [
  'skill://alpha/notes/SKILL.md',
  'skill://alpha/pdf-forms/SKILL.md',
  'skill://beta/acme/pdf-forms/SKILL.md',
];

describe('skills of several servers', () => {
  it('are listed under the names of the servers, and their files pass the checks of the SDK', async () => {
    const client = await connect(testScope(), url);
    expect(client.getServerCapabilities()).toMatchObject({
      extensions: { 'io.modelcontextprotocol/skills': { directoryRead: true } },
    });
    const skills = new SkillsClient(client);
    expect(await uris(client)).toEqual(LISTED);
    for (const uri of LISTED) {
      const { skill } = await skills.get(uri);
      expect(await skills.read(skill)).toMatchObject({ uri });
      const more = await skills.read(skill, 'references/MORE.md');
      expect(JSON.stringify(more)).toContain(`More of ${skill.frontmatter.name}.`);
    }
  });

  it('have directories under the same names', async () => {
    const skills = new SkillsClient(await connect(testScope(), url));
    const { resources } = await skills.readDirectory('skill://beta/acme/pdf-forms');
    expect(resources.map(({ uri }) => uri)).toEqual([
      'skill://beta/acme/pdf-forms/SKILL.md',
      'skill://beta/acme/pdf-forms/references',
    ]);
    await expect(skills.readDirectory('skill://beta/acme')).rejects.toMatchObject({ code: -32602 });
  });

  it.each(['skill://gamma/notes/SKILL.md', 'skill://alpha/other/SKILL.md', 'skill://alpha/x/../notes/SKILL.md'])(
    'do not include %s',
    async (uri) => {
      const client = await connect(testScope(), url);
      await expect(new SkillsClient(client).get(uri)).rejects.toMatchObject({ code: -32602 });
    },
  );

  it('are listed without those of a server that fails', async () => {
    const owner = testScope();
    const broken = await startSkillServer(owner, ['broken']);
    broken.fault = (method) => (method === 'skills/list' ? 'status-500' : undefined);
    const files = gatewayOver([entry('alpha', alpha.url), entry('broken', broken.url)]);
    const gateway = await startVmcp(owner, { files });
    const client = await connect(owner, gateway.url);
    await eventually('the skills of the other server are listed', async () => (await uris(client)).length > 0);
    expect(await uris(client)).toEqual(LISTED.slice(0, 2));
    const { skill } = await new SkillsClient(client).get('skill://broken/broken/SKILL.md');
    expect(skill.uri).toBe('skill://broken/broken/SKILL.md');
  });

  it('are ordinary resources for a client with a session', async () => {
    const session = await openSession(url);
    expect(await session.request('skills/list')).toMatchObject({ error: { code: -32601 } });
    const { result } = await session.request('resources/list');
    expect((result as { resources: { uri: string }[] }).resources.map(({ uri }) => uri)).toEqual(LISTED);
    for (const uri of ['skill://alpha/notes/SKILL.md', 'skill://notes/SKILL.md']) {
      const { contents } = (await session.request('resources/read', { uri })).result as { contents: object[] };
      expect(contents).toMatchObject([{ uri: 'skill://alpha/notes/SKILL.md' }]);
      expect(JSON.stringify(contents)).toContain('Read skill://notes/references/MORE.md');
    }
    expect(await session.request('resources/read', { uri: 'skill://gone/SKILL.md' })).toMatchObject({
      error: { code: -32002 },
    });
  });
});

it('skill methods are unknown where no server has skills', async () => {
  const owner = testScope();
  const backend = await startMcpServer(owner, 'plain', {});
  const gateway = await startVmcp(owner, { files: gatewayOver([entry('plain', backend.url)]) });
  await eventually('the server has answered', async () =>
    (await send(gateway.url, 'tools/list')).text.includes('tool'),
  );
  for (const method of ['skills/list', 'skills/get', 'resources/directory/read']) {
    const reply = await send(gateway.url, method, { uri: 'skill://plain/x/SKILL.md' });
    expect(reply).toMatchObject({ status: 404, error: { code: -32601 } });
  }
  expect((await send(gateway.url, 'server/discover')).result).not.toHaveProperty('capabilities.extensions');
});

it.each(SCENARIOS)('passes what the server itself passes of the conformance scenario %s', async (scenario) => {
  const verdicts = async (to: string) => {
    const run = await runConformance(testScope(), to, ['--scenario', scenario, '--spec-version', REVISION, '--force']);
    expect(run.checks.length, run.output).toBeGreaterThan(0);
    return new Map(run.checks.map(({ id, status, errorMessage = '' }) => [id, `${status} ${errorMessage}`.trim()]));
  };
  const owner = testScope();
  const { url: one } = await startVmcp(owner, { files: gatewayOver([entry('alpha', alpha.url)]) });
  await eventually('the skills are listed', async () => (await uris(await connect(owner, one))).length === 2);
  const [direct, through] = await Promise.all([verdicts(alpha.url), verdicts(one)]);
  const passed = [...direct].filter(([, verdict]) => verdict === 'SUCCESS');
  expect(passed.length).toBeGreaterThan(3);
  expect([...through].filter(([id]) => direct.get(id) === 'SUCCESS')).toEqual(passed);
});
