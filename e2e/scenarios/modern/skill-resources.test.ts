import { beforeAll, describe, expect, it } from 'vitest';
import { openGet } from '../../faults/event-stream.ts';
import { startMcpServer, type Exchange, type McpServer } from '../../faults/mcp-server.ts';
import { startGatewayOver } from '../../harness/authenticated-gateway.ts';
import { openSession, type RawSession } from '../../harness/clients/raw.ts';
import { startIssuer } from '../../harness/issuer.ts';
import { entry, gatewayOver } from '../../harness/manifests.ts';
import { eventually } from '../../harness/poll.ts';
import { blockScope, testScope, type Scope } from '../../harness/scope.ts';
import { startVmcp } from '../../harness/vmcp.ts';
import { listen, send } from './testdata/modern-request.ts';
import { startSkillServer } from './testdata/skill-server.ts';

const UPDATED = 'notifications/resources/updated';
const OWN = 'skill://notes/SKILL.md';

/** Starts a server of 2025-11-25 whose resources are the files of a skill. */
function startOldServer(scope: Scope, name: string): Promise<McpServer> {
  const read = ({ message, result, error }: Exchange): void => {
    const uri = String(message.params?.['uri']);
    if (uri.startsWith('skill://notes/')) result({ contents: [{ uri, text: `${name}: see ${OWN}` }] });
    else error(-32002, 'no such file', { uri });
  };
  const empty = ({ result }: Exchange): void => {
    result({});
  };
  return startMcpServer(scope, name, {
    capabilities: { tools: {}, resources: { subscribe: true }, completions: {} },
    methods: {
      'resources/list': ({ result }) => {
        result({ resources: [{ uri: OWN, name: 'notes', size: 7.0 }] });
      },
      'resources/templates/list': ({ result }) => {
        result({ resourceTemplates: [{ uriTemplate: 'skill://notes/{+path}', name: 'files' }] });
      },
      'resources/read': read,
      'resources/subscribe': empty,
      'resources/unsubscribe': empty,
      'completion/complete': ({ message, result }) => {
        result({ completion: { values: [(message.params!['ref'] as { uri: string }).uri] } });
      },
    },
  });
}

const scope = blockScope();
let alpha: McpServer;
let beta: McpServer;
let url: string;

beforeAll(async () => {
  alpha = await startOldServer(scope, 'alpha');
  beta = await startOldServer(scope, 'beta');
  const backends = [entry('alpha', alpha.url), entry('beta', beta.url)];
  ({ url } = await startVmcp(scope, { files: gatewayOver(backends) }));
  const session = await openSession(url);
  await eventually('both servers are listed', async () => (await session.tools()).length === 2);
});

const read = async (session: RawSession, uri: string): Promise<unknown> =>
  (await session.request('resources/read', { uri })).result?.['contents'];

describe('equal skill:// resources of two servers with sessions', () => {
  it('are listed under the names of their servers', async () => {
    const session = await openSession(url);
    expect((await session.request('resources/list')).result).toEqual({
      resources: ['alpha', 'beta'].map((name) => ({ uri: `skill://${name}/notes/SKILL.md`, name: 'notes', size: 7 })),
    });
    expect((await session.request('resources/templates/list')).result).toEqual({
      resourceTemplates: ['alpha', 'beta'].map((name) => ({
        uriTemplate: `skill://${name}/notes/{+path}`,
        name: 'files',
      })),
    });
  });

  it.each(['SKILL.md', 'a/b.md'])('are read, and their contents are unchanged: %s', async (path) => {
    const session = await openSession(url);
    for (const name of ['alpha', 'beta']) {
      const uri = `skill://${name}/notes/${path}`;
      expect(await read(session, uri)).toEqual([{ uri, text: `${name}: see ${OWN}` }]);
      expect((await send(url, 'resources/read', { uri })).result?.['contents']).toEqual(await read(session, uri));
    }
  });

  it('do not exist under their own URI, which names none of them', async () => {
    const session = await openSession(url);
    const reply = await session.request('resources/read', { uri: OWN });
    expect(reply.error).toMatchObject({ code: -32002, data: { uri: OWN } });
  });

  it('can be read under their own URI where no other server has it, but are subscribed to under the listed one', async () => {
    const { url: single } = await startVmcp(testScope(), { files: gatewayOver([entry('alpha', alpha.url)]) });
    const session = await openSession(single);
    await eventually('the resource is read', async () => (await read(session, OWN)) !== undefined);
    expect(await read(session, OWN)).toMatchObject([{ uri: 'skill://alpha/notes/SKILL.md' }]);
    const subscribed = await session.request('resources/subscribe', { uri: OWN });
    expect(subscribed.error).toMatchObject({ code: -32002, data: { uri: OWN } });
  });

  it('are completed under the URI at their server', async () => {
    const session = await openSession(url);
    const ref = { type: 'ref/resource', uri: 'skill://beta/notes/{+path}' };
    const reply = await session.request('completion/complete', { ref, argument: { name: 'path', value: '' } });
    expect(reply.result).toMatchObject({ completion: { values: ['skill://notes/{+path}'] } });
  });

  it('send updates to a session under the URI that it subscribed to', async () => {
    const session = await openSession(url);
    const stream = await openGet(url, session);
    const uri = 'skill://beta/notes/SKILL.md';
    expect((await session.request('resources/subscribe', { uri })).result).toEqual({});
    expect(beta.seen.findLast(({ method }) => method === 'resources/subscribe')?.body).toContain(`"${OWN}"`);
    await eventually('the stream of the server is open', () => beta.streams.size >= 2);
    alpha.notify(UPDATED, { uri: OWN });
    beta.notify(UPDATED, { uri: OWN });
    await eventually('the update has arrived', () => stream.methods().includes(UPDATED));
    expect(stream.messages.filter(({ method }) => method === UPDATED)).toMatchObject([{ params: { uri } }]);
    await session.request('resources/unsubscribe', { uri });
    expect(beta.seen.findLast(({ method }) => method === 'resources/unsubscribe')?.body).toContain(`"${OWN}"`);
  });

  it('send updates to a stream without a session under the URI that it names', async () => {
    const uri = 'skill://alpha/notes/SKILL.md';
    const stream = await listen(url, { resourceSubscriptions: [uri, OWN] });
    await eventually('the stream is open', () => stream.messages.length > 0);
    expect(stream.messages[0]?.params).toMatchObject({ notifications: { resourceSubscriptions: [uri] } });
    await eventually('the update has arrived', () => {
      alpha.notify(UPDATED, { uri: OWN });
      return stream.methods().includes(UPDATED);
    });
    const update = stream.messages.find(({ method }) => method === UPDATED);
    expect(update?.params).toEqual({ uri, _meta: { 'io.modelcontextprotocol/subscriptionId': 1 } });
    stream.drop();
  });
});

it('serves the skills of a server of an older revision that declares the extension', async () => {
  const owner = testScope();
  const skill = { uri: OWN, frontmatter: { name: 'notes', description: 'd' }, resources: 'dynamic' };
  const backend = await startMcpServer(owner, 'old', {
    capabilities: { resources: {}, extensions: { 'io.modelcontextprotocol/skills': {} } },
    methods: {
      'skills/list': ({ result }) => {
        result({ skills: [skill, { ...skill, uri: 'skill://notes/OTHER.md' }] });
      },
      'skills/get': ({ result }) => {
        result({ skill });
      },
    },
  });
  const vmcp = await startVmcp(owner, { files: gatewayOver([entry('old', backend.url)]) });
  const served = { ...skill, uri: 'skill://old/notes/SKILL.md' };
  await eventually('the skill is listed', async () => (await send(vmcp.url, 'skills/list')).text.includes(served.uri));
  expect((await send(vmcp.url, 'skills/list')).result).toMatchObject({
    resultType: 'complete',
    skills: [served],
    ttlMs: 0,
    cacheScope: 'private',
  });
  expect((await send(vmcp.url, 'skills/get', { uri: served.uri })).result).toMatchObject({
    resultType: 'complete',
    skill: served,
    ttlMs: 0,
    cacheScope: 'private',
  });
  expect(backend.seen.findLast(({ method }) => method === 'skills/get')?.body).toContain(`"${OWN}"`);
  expect((await send(vmcp.url, 'resources/directory/read', { uri: 'skill://old/notes' })).error?.code).toBe(-32601);
  expect(vmcp.output()).toContain('MalformedItem');

  const stream = await listen(vmcp.url, { resourcesListChanged: true });
  skill.frontmatter.description = 'changed';
  backend.notify('notifications/resources/list_changed');
  await eventually('the client is notified', () => stream.methods().includes('notifications/resources/list_changed'));
  expect((await send(vmcp.url, 'skills/list')).result).toMatchObject({ skills: [{ frontmatter: skill.frontmatter }] });
  stream.drop();
});

describe('a skill that a policy denies', () => {
  const gateway = async () => {
    const owner = testScope();
    const [issuer, backend] = await Promise.all([startIssuer(owner), startSkillServer(owner, ['open', 'secret'])]);
    const policies = [
      'permit(principal, action, resource);',
      'forbid(principal, action, resource == Resource::"skill://alpha/secret/SKILL.md");',
      'forbid(principal, action, resource == Resource::"skill://alpha/open/references/MORE.md");',
    ];
    const running = await startGatewayOver(owner, {
      issuer,
      backends: [{ name: 'alpha', transport: 'streamable-http', url: backend.url }],
      cedar: { policies },
    });
    const headers = { authorization: `Bearer ${issuer.token({ sub: 'alice' })}` };
    const ask = (method: string, params: Record<string, unknown> = {}) =>
      send(running.url, method, params, { headers });
    await eventually('the skills are listed', async () =>
      (await ask('skills/list')).text.includes('skill://alpha/open'),
    );
    return ask;
  };

  it('is in no list, and can neither be got nor read', async () => {
    const ask = await gateway();
    const uri = 'skill://alpha/secret/SKILL.md';
    for (const method of ['skills/list', 'resources/list'])
      expect((await ask(method)).text.match(/skill:\/\/alpha\/[a-z]+\/SKILL.md/gu)).not.toContain(uri);
    expect(await ask('resources/read', { uri: 'skill://secret/SKILL.md' })).toMatchObject({ status: 403 });
    expect(await ask('resources/read', { uri: 'skill://open/SKILL.md' })).toMatchObject({ status: 200 });
    for (const method of ['skills/get', 'resources/read']) {
      expect(await ask(method, { uri })).toMatchObject({ status: 403 });
      const unknown = { uri: 'skill://alpha/nothing/../secret/SKILL.md' };
      expect(await ask(method, unknown)).toMatchObject({ status: 403 });
      expect(await ask(method, { uri: 'skill://alpha/open/SKILL.md' })).toMatchObject({ status: 200 });
    }
  });

  it('has files that are judged one by one, and directories without the denied ones', async () => {
    const ask = await gateway();
    expect(await ask('resources/read', { uri: 'skill://alpha/open/references/MORE.md' })).toMatchObject({
      status: 403,
    });
    const list = async (uri: string) => (await ask('resources/directory/read', { uri })).result?.['resources'];
    expect(await list('skill://alpha/open/references')).toEqual([]);
    expect(await list('skill://alpha/secret')).toMatchObject([{ uri: 'skill://alpha/secret/references' }]);
  });
});
