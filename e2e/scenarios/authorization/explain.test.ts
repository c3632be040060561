import { beforeAll, describe, expect, it } from 'vitest';
import type { Explanation } from '../../../gateway/policy/explain/explanation.ts';
import { startHttpBackend } from '../../harness/backends/http.ts';
import { openSession } from '../../harness/clients/raw.ts';
import { startIssuer, type Issuer } from '../../harness/issuer.ts';
import { blockScope } from '../../harness/scope.ts';
import { startVmcp, vmcpResult, type Vmcp } from '../../harness/vmcp.ts';

const scope = blockScope();
let vmcp: Vmcp;
let issuer: Issuer;
let seen: () => number;

beforeAll(async () => {
  issuer = await startIssuer(scope);
  const backend = await startHttpBackend(scope, 'sdk-1-stateful', 'alpha');
  seen = () => backend.seen.filter(({ method }) => method === 'tools/call').length;
  vmcp = await startVmcp(scope, { files: { 'desk.yaml': manifests(backend.url, issuer.url) } });
});

async function ask(body: object) {
  const url = `${vmcp.management}/api/v1beta/policies/explain`;
  const reply = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
  const text = await reply.text();
  return { status: reply.status, text, json: reply.ok ? (JSON.parse(text) as Answer) : undefined };
}

interface Answer {
  readonly server: string;
  readonly tools: readonly Explanation[];
  readonly unknown: readonly string[];
}

describe('POST /api/v1beta/policies/explain', () => {
  it('answers for each tool as the command does, and calls none', async () => {
    const claims = { sub: 'alice', groups: ['admins', 'ops'] };
    const { status, json } = await ask({ claims, server: 'desk' });
    const words = ['explain', vmcp.folder, '--as', 'sub=alice,groups=admins|ops', '--name', 'desk', '--output', 'json'];
    const { stdout } = await vmcpResult(scope, words);
    expect(status).toBe(200);
    expect(json).toEqual({ server: 'default/desk', ...(JSON.parse(stdout) as object), unknown: [] });
    expect(json?.tools).toEqual(
      expect.arrayContaining([
        { tool: 'alpha_add', backend: 'alpha', allowed: true, by: 'permit admins-call', credential: 'none' },
        { tool: 'alpha_failing', backend: 'alpha', allowed: false, by: 'forbid policies[2]', credential: 'none' },
        {
          ...{ tool: 'alpha_big', backend: 'alpha', allowed: false, by: 'permit admins-call', credential: 'none' },
          filter: 'spec.config.aggregation.tools[0].filter',
        },
      ]),
    );
    expect(seen()).toBe(0);
  });

  it('agrees with what the user then sees', async () => {
    for (const claims of [{ sub: 'alice', groups: ['admins'] }, { sub: 'bob' }]) {
      const { json } = await ask({ claims, server: 'default/desk' });
      const session = await openSession(vmcp.url, undefined, { authorization: `Bearer ${issuer.token(claims)}` });
      const { result } = await session.request('tools/list');
      const listed = (result as { tools: { name: string }[] }).tools.map(({ name }) => name);
      expect(json?.tools.filter(({ allowed }) => allowed).map(({ tool }) => tool)).toEqual(listed);
    }
  });

  it('explains one tool with arguments, and a tool that no backend lists', async () => {
    const one = async (body: object) => (await ask({ claims: { sub: 'bob' }, server: 'desk', ...body })).json?.tools;
    expect(await one({ tool: 'alpha_echo', arguments: { text: 'hello' } })).toMatchObject([{ allowed: true }]);
    expect(await one({ tool: 'alpha_echo', arguments: { text: 'secret' } })).toMatchObject([
      { allowed: false, by: 'forbid no-secrets' },
    ]);
    expect(await one({ tool: 'none' })).toMatchObject([{ allowed: false, filter: 'no backend lists it' }]);
  });

  it('agrees with the call, however its arguments are written', async () => {
    const headers = { authorization: `Bearer ${issuer.token({ sub: 'bob' })}` };
    const session = await openSession(vmcp.url, undefined, headers);
    const texts = ['"hello"', '"secret"', 'null', '1e2', '9.5', '[1]', '"a","text":"secret"', '"a","Text":"secret"'];
    const results: boolean[] = [];
    for (const text of texts) {
      const args = `{"text":${text}}`;
      const body = `{"claims":{"sub":"bob"},"server":"desk","tool":"alpha_echo","arguments":${args}}`;
      const reply = await fetch(`${vmcp.management}/api/v1beta/policies/explain`, { method: 'POST', body });
      const explained = ((await reply.json()) as Answer).tools[0]?.allowed;
      const params = `{"name":"alpha_echo","arguments":${args}}`;
      const called = await session.post(`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":${params}}`);
      const isDenied = called.body.includes('denied by policy');
      expect(explained, args).toBe(!isDenied);
      results.push(!isDenied);
    }
    expect(results).toEqual([true, false, false, false, false, false, false, false]);
    const words = ['explain', vmcp.folder, 'alpha_echo', '--name', 'desk', '--as', 'sub=bob', '-o', 'json'];
    const { stdout } = await vmcpResult(scope, [...words, '--arguments', '{"text":1e2}']);
    expect(JSON.parse(stdout)).toMatchObject({
      tools: [{ allowed: false, by: expect.stringContaining('exactly') as string }],
    });
  });

  it('reports the backends whose tools it does not know, and a server without policies', async () => {
    expect((await ask({ claims: { sub: 'bob' }, server: 'open' })).json).toEqual({
      server: 'default/open',
      tools: [],
      unknown: ['away'],
    });
    const { json } = await ask({ claims: { sub: 'bob' }, server: 'open', tool: 'away_x' });
    expect(json?.tools).toMatchObject([{ allowed: false, by: 'no policy is configured' }]);
  });

  it('refuses what it cannot explain', async () => {
    expect(await ask({ claims: { sub: 'bob' } })).toMatchObject({
      status: 400,
      text: 'set "server" to one of default/desk, default/open\n',
    });
    expect(await ask({ claims: { sub: 'bob' }, server: 'none' })).toMatchObject({ status: 404 });
    expect(await ask({ claims: {}, server: 'desk' })).toMatchObject({
      status: 400,
      text: expect.stringContaining('claims.sub') as string,
    });
    expect(await ask({ claims: 'sub=bob', server: 'desk' })).toMatchObject({ status: 400 });
  });
});

const manifests = (alpha: string, issuerUrl: string): string => `
apiVersion: vmcp.dev/v1alpha1
kind: MCPGroup
metadata: { name: team }
spec: {}
---
apiVersion: vmcp.dev/v1alpha1
kind: MCPServerEntry
metadata: { name: alpha }
spec: { remoteUrl: "${alpha}", transport: streamable-http, groupRef: { name: team } }
---
apiVersion: vmcp.dev/v1alpha1
kind: VirtualMCPServer
metadata: { name: desk }
spec:
  groupRef: { name: team }
  config:
    aggregation:
      tools: [{ workload: alpha, filter: [echo, add, failing] }]
  incomingAuth:
    type: oidc
    oidcConfig: { type: inline, inline: { issuer: "${issuerUrl}", audience: vmcp } }
    authzConfig:
      type: inline
      inline:
        policies:
          - permit(principal, action, resource) when { resource has readOnlyHint && resource.readOnlyHint };
          - '@id("admins-call") permit(principal in Group::"admins", action == Action::"call_tool", resource in Backend::"alpha");'
          - forbid(principal, action, resource == Tool::"alpha_failing");
          - '@id("no-secrets") forbid(principal, action, resource) when { context has arg_text && context.arg_text == "secret" };'
---
apiVersion: vmcp.dev/v1alpha1
kind: MCPGroup
metadata: { name: others }
spec: {}
---
apiVersion: vmcp.dev/v1alpha1
kind: MCPServerEntry
metadata: { name: away }
spec: { remoteUrl: "http://127.0.0.1:9/mcp", transport: streamable-http, groupRef: { name: others } }
---
apiVersion: vmcp.dev/v1alpha1
kind: VirtualMCPServer
metadata: { name: open }
spec: { groupRef: { name: others }, incomingAuth: { type: anonymous } }
`;
