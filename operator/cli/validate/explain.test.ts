import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHttpBackend } from '../../../e2e/harness/backends/http.ts';
import { blockScope } from '../../../e2e/harness/scope.ts';
import { readClaims, explain, type ExplainOptions } from './explain.ts';

describe('claims of a user', () => {
  it.each([
    ['sub=alice', { sub: 'alice' }],
    ['sub=alice,groups=admins|ops', { sub: 'alice', groups: ['admins', 'ops'] }],
    ['sub=7,groups=admins|', { sub: '7', groups: ['admins'] }],
    ['sub=a, level=3,staff=true,code=007,email=a=b', { sub: 'a', level: 3, staff: true, code: '007', email: 'a=b' }],
    ['groups=admins', undefined],
    ['sub=', undefined],
    ['alice', undefined],
  ])('%s', (text, claims) => {
    expect(readClaims(text)).toEqual(claims);
  });
});

describe('vmcp explain', () => {
  const scope = blockScope();
  let dir: string;
  let file: string;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'vmcp-explain-'));
    file = join(dir, 'desk.yaml');
    const { url } = await startHttpBackend(scope, 'sdk-1-stateful', 'alpha');
    await writeFile(file, manifests(url));
  });
  afterAll(() => rm(dir, { recursive: true, force: true }));

  async function run(words: readonly string[], options: Partial<ExplainOptions> = {}) {
    let [stdout, stderr] = ['', ''];
    const io = {
      stdout: { write: (text: string) => ((stdout += text), true) },
      stderr: { write: (text: string) => ((stderr += text), true) },
    };
    const code = await explain(words, { as: 'sub=alice', hostEnv: {}, ...options }, io);
    return { code, stdout, stderr };
  }

  it('prints for each tool whether the user may call it, by which policy, the filter and the credential', async () => {
    const { code, stdout } = await run([file], { as: 'sub=alice,groups=admins|ops' });
    expect(code).toBe(0);
    expect(stdout.split('\n').map((line) => line.split(/ {2,}/u))).toEqual(
      expect.arrayContaining([
        ['TOOL', 'ALLOWED', 'BY', 'HIDDEN BY', 'CREDENTIAL'],
        ['alpha_add', 'yes', 'permit admins-call', '-', 'none'],
        ['alpha_big', 'no', 'permit admins-call', 'spec.config.aggregation.tools[0].filter', 'none'],
        ['alpha_failing', 'no', 'forbid policies[2]', '-', 'none'],
      ]),
    );
  });

  it('explains one tool as JSON, with arguments', async () => {
    const json = async (words: readonly string[], options: Partial<ExplainOptions>) =>
      JSON.parse((await run(words, { output: 'json', ...options })).stdout) as unknown;
    const echo = { tool: 'alpha_echo', backend: 'alpha', credential: 'none' };
    expect(await json([file, 'alpha_echo'], {})).toEqual({
      tools: [{ ...echo, allowed: true, by: 'permit policies[0]' }],
    });
    expect(await json([file, 'alpha_echo'], { arguments: '{"text": "secret"}' })).toEqual({
      tools: [{ ...echo, allowed: false, by: 'forbid no-secrets' }],
    });
    expect(await json([file, 'none'], {})).toMatchObject({
      tools: [{ allowed: false, filter: 'no backend lists it' }],
    });
  });

  it('names the MCPToolConfig of a server that hides a tool, under the name that it gives the tool', async () => {
    const shared = join(dir, 'shared.yaml');
    await writeFile(shared, SHARED);
    const { stdout } = await run([shared], { output: 'json' });
    const { tools } = JSON.parse(stdout) as { tools: object[] };
    expect(tools).toContainEqual(expect.objectContaining({ tool: 'files_echo', allowed: true }));
    expect(tools).toContainEqual(
      expect.objectContaining({ tool: 'files_sum', filter: 'MCPToolConfig/echo spec.toolsFilter', allowed: false }),
    );
  });

  it('refuses options and files that it cannot use', async () => {
    expect(await run([file], { as: 'alice' })).toMatchObject({ code: 2, stdout: '' });
    expect(await run([file], { arguments: '[]' })).toMatchObject({ code: 2, stdout: '' });
    const wrong = join(dir, 'wrong.yaml');
    await writeFile(wrong, manifests('http://127.0.0.1:1/mcp').replace('@id("admins-call")', 'allow'));
    const { code, stderr } = await run([wrong]);
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/policies\[1\]: line 1, column 7: .+ \[AuthzInvalid\]\n/u),
    ]);
  });
});

const SHARED = `
apiVersion: vmcp.dev/v1alpha1
kind: MCPGroup
metadata: { name: team }
spec: {}
---
apiVersion: vmcp.dev/v1alpha1
kind: MCPToolConfig
metadata: { name: echo }
spec: { toolsFilter: [echo], toolsOverride: { get-sum: { name: sum } } }
---
apiVersion: vmcp.dev/v1alpha1
kind: MCPServer
metadata: { name: files }
spec: { image: "npx://@modelcontextprotocol/server-everything", groupRef: { name: team }, toolConfigRef: { name: echo } }
---
apiVersion: vmcp.dev/v1alpha1
kind: VirtualMCPServer
metadata: { name: desk }
spec: { groupRef: { name: team }, incomingAuth: { type: anonymous } }
`;

const manifests = (url: string): string => `
apiVersion: vmcp.dev/v1alpha1
kind: MCPGroup
metadata: { name: team }
spec: {}
---
apiVersion: vmcp.dev/v1alpha1
kind: MCPServerEntry
metadata: { name: alpha }
spec: { remoteUrl: "${url}", transport: streamable-http, groupRef: { name: team } }
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
    oidcConfig: { type: inline, inline: { issuer: "https://idp.example.com", audience: desk } }
    authzConfig:
      type: inline
      inline:
        policies:
          - permit(principal, action, resource) when { resource has readOnlyHint && resource.readOnlyHint };
          - '@id("admins-call") permit(principal in Group::"admins", action == Action::"call_tool", resource in Backend::"alpha");'
          - forbid(principal, action, resource == Tool::"alpha_failing");
          - '@id("no-secrets") forbid(principal, action, resource) when { context has arg_text && context.arg_text == "secret" };'
`;
