import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { validate } from './validate.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'vmcp-cluster-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const API = 'apiVersion: vmcp.dev/v1alpha1';
const GROUP = `${API}
kind: MCPGroup
metadata: {name: tools}
spec: {}
`;
const server = (more: string) => `${API}
kind: MCPServer
metadata: {name: web}
spec:
  image: registry.example.com/web:1
  groupRef: {name: tools}
  transport: streamable-http
${more}`;

/** Runs `vmcp validate --cluster` over a folder with these files. */
async function run(files: Readonly<Record<string, string>>, options: Parameters<typeof validate>[1] = {}) {
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text);
  const out = { stdout: '', stderr: '' };
  const code = await validate(
    [dir],
    { cluster: true, ...options },
    {
      stdout: { write: (text: string) => (out.stdout += text) },
      stderr: { write: (text: string) => (out.stderr += text) },
    },
  );
  const lines = (text: string) => text.replaceAll(`${dir}/`, '').split('\n').slice(0, -1);
  return { code, stdout: lines(out.stdout), stderr: lines(out.stderr) };
}

describe('validate --cluster', () => {
  it('accepts files of a cluster, and says how much it has checked', async () => {
    expect(await run({ 'a.yaml': `${GROUP}---\n${server('')}` })).toEqual({
      code: 0,
      stdout: ['ok: 0 VirtualMCPServers, 0 backends'],
      stderr: ['checked 2 resources of vmcp.dev in 2 objects'],
    });
  });

  it('prints each problem with its file and line', async () => {
    const patch = '  podTemplateSpec:\n    spec:\n      nodeSelecter: {disk: ssd}\n';
    const { code, stdout, stderr } = await run({ 'a.yaml': GROUP, 'b.yaml': server(patch) });
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: [
        'b.yaml:10: MCPServer/web: spec.podTemplateSpec.spec.nodeSelecter: PodSpec has no such field: did you mean nodeSelector? [InvalidPodTemplateSpec]',
      ],
      stderr: ['1 problem in 1 file'],
    });
  });

  it('prints one JSON document with -o json', async () => {
    const { code, stdout } = await run({ 'a.yaml': GROUP, 'b.yaml': server('  replica: 2\n') }, { output: 'json' });
    const { valid, problems } = JSON.parse(stdout.join('\n')) as { valid: boolean; problems: unknown[] };
    expect({ code, valid, problems }).toMatchObject({
      code: 2,
      valid: false,
      problems: [{ line: 8, kind: 'MCPServer', path: 'spec.replica', reason: 'UnknownField' }],
    });
  });

  it('checks the pod template of a server that has another problem, too', async () => {
    const { stdout } = await run({
      'b.yaml': server('  isolation: session\n  podTemplateSpec: {spec: {nodeNam: a}}\n'),
    });
    expect(stdout.join('\n')).toMatch(/isolation/u);
    const other = await run({
      'b.yaml': server('  externalAuthConfigRef: {name: none}\n  podTemplateSpec: {spec: {nodeNam: a}}\n'),
    });
    expect(other.stdout.map((line) => /\[(\w+)\]$/u.exec(line)?.[1])).toEqual([
      'GroupRefNotFound',
      'ExternalAuthConfigRefNotFound',
      'InvalidPodTemplateSpec',
    ]);
  });

  it('passes over objects of other kinds, also twice the same', async () => {
    const deployment = 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicaz: 1}\n';
    const foreign = 'apiVersion: secretsmanager.example.com/v1\nkind: Secret\nmetadata: {name: a}\nspec: {}\n';
    const files = { 'a.yaml': [GROUP, deployment, deployment, foreign].join('---\n') };
    expect(await run({ ...files, 'kustomization.yaml': 'resources: [a.yaml]\n' })).toEqual({
      code: 0,
      stdout: ['ok: 0 VirtualMCPServers, 0 backends'],
      stderr: ['checked 1 resource of vmcp.dev in 5 objects'],
    });
  });

  it.each([
    ['a kind that the group does not have', `${API}\nkind: MCPServr\nmetadata: {name: a}\n`, 'UnknownKind'],
    ['a kind of ours in another group', GROUP.replace('vmcp.dev/', 'example.com/'), 'InvalidValue'],
    ['another version', GROUP.replace('v1alpha1', 'v1'), 'InvalidValue'],
    ['a kind of ours without apiVersion', GROUP.replace(API, ''), 'MissingField'],
    ['a kind like ours without apiVersion', GROUP.replace(API, '').replace('MCPGroup', 'McpGrup'), 'UnknownKind'],
    ['no kind', GROUP.replace('kind: MCPGroup', ''), 'MissingField'],
  ])('rejects %s', async (_what, text, reason) => {
    const { code, stdout } = await run({ 'a.yaml': text });
    expect({ code, reasons: stdout.map((line) => /\[(\w+)\]$/u.exec(line)?.[1]) }).toEqual({
      code: 2,
      reasons: [reason],
    });
  });

  it('warns of a document that is no resource', async () => {
    const { code, stderr } = await run({ 'a.yaml': GROUP, 'values.yaml': 'replicaCount: 1\n' });
    expect({ code, line: stderr.find((each) => each.startsWith('values.yaml:1: ')) }).toEqual({
      code: 0,
      line: expect.stringMatching(/nothing checks it \[NotChecked\] \(warning\)$/u),
    });
  });

  it('says which objects it expects in the cluster, and not those of the files', async () => {
    const more = `  serviceAccount: team
  secrets: [{name: creds, key: token}, {name: known, key: token, targetEnvName: OTHER}]
  resourceOverrides: {proxyDeployment: {imagePullSecrets: [{name: registry}]}}
  podTemplateSpec:
    spec:
      volumes:
        - {name: a, configMap: {name: settings}}
        - {name: b, secret: {secretName: maybe, optional: true}}
        - {name: c, persistentVolumeClaim: {claimName: disk}}
      containers: [{name: mcp, envFrom: [{secretRef: {name: known}}, {secretRef: {name: more}}]}]
`;
    const known = 'apiVersion: v1\nkind: Secret\nmetadata: {name: known}\nstringData: {token: hunter2}\n';
    const account = 'apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: team}\n';
    const { code, stderr } = await run({
      'a.yaml': GROUP,
      'b.yaml': server(more),
      'c.yaml': `${known}---\n${account}`,
    });
    expect(code).toBe(0);
    expect(
      stderr.flatMap((line) => /: (\S+): expects (.*) in namespace default.*\(warning\)/u.exec(line)?.slice(1) ?? []),
    ).toEqual([
      'spec.secrets[0].name',
      'Secret "creds" with key "token"',
      'spec.resourceOverrides.proxyDeployment.imagePullSecrets[0].name',
      'Secret "registry"',
      'spec.podTemplateSpec.spec.volumes[0].configMap.name',
      'ConfigMap "settings"',
      'spec.podTemplateSpec.spec.volumes[2].persistentVolumeClaim.claimName',
      'PersistentVolumeClaim "disk"',
      'spec.podTemplateSpec.spec.containers[0].envFrom[1].secretRef.name',
      'Secret "more"',
    ]);
  });

  it('reads the keys of a Secret that SOPS has encrypted', async () => {
    const encrypted =
      'apiVersion: v1\nkind: Secret\nmetadata: {name: creds}\ndata: {token: "ENC[AES256_GCM,data:eA==]"}\nsops: {version: 3.10.2}\n';
    const files = { 'a.yaml': GROUP, 's.yaml': encrypted };
    const read = await run({ ...files, 'b.yaml': server('  secrets: [{name: creds, key: token}]\n') });
    expect({ code: read.code, warned: read.stderr.length }).toEqual({ code: 0, warned: 1 });
    const wrong = await run({ ...files, 'b.yaml': server('  secrets: [{name: creds, key: tokn}]\n') });
    expect(wrong.stdout).toEqual([expect.stringMatching(/^b\.yaml:8: .*SecretKeyNotFound\]$/u)]);
  });

  it('knows nothing of the shell and of .env', async () => {
    await writeFile(join(dir, '.env'), 'TOKEN=x\nbroken line\n');
    const text = server('  env: [{name: TOKEN, fromEnv: TOKEN}]\n');
    const { stdout } = await run({ 'a.yaml': GROUP, 'b.yaml': text }, { hostEnv: { TOKEN: 'x' } });
    expect(stdout).toEqual([expect.stringMatching(/spec\.env\[0\]\.fromEnv: .*\[RuleViolated\]$/u)]);
  });

  it('does not say that nothing uses an object: its user may be in another folder', async () => {
    const config = `${API}\nkind: MCPToolConfig\nmetadata: {name: a}\nspec: {toolsFilter: [search]}\n`;
    expect((await run({ 'a.yaml': GROUP, 'b.yaml': config })).stderr).toHaveLength(1);
  });
});
