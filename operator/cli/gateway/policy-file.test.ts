import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { VMCP } from '../../../gateway/contract/testdata/vmcp-config.ts';
import { readConfigWithPolicyFile } from './policy-file.ts';

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'vmcp-policy-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const OPEN = 'permit(principal, action, resource);';
const documentOf = (...policies: string[]) => ({ version: '1.0', type: 'cedarv1', cedar: { policies } });

/** Reads a configuration that names the file. */
async function read(file: string, { vmcp = {}, ...more }: Record<string, unknown> = {}) {
  const config = {
    schema_version: 'v0.1.0',
    name: 'desk',
    authz_config_path: file,
    oidc_config: { issuer: 'https://idp.example', audience: 'desk' },
    vmcp: { ...VMCP, incoming: { type: 'oidc' }, ...(vmcp as object) },
    ...more,
  };
  const result = await readConfigWithPolicyFile(JSON.stringify(config));
  if ('config' in result) return result.config.authz_config;
  return result.problems.map(
    ({ path, reason, message }) => `${path}: ${message.replaceAll(`${dir}/`, '')} [${reason}]`,
  );
}

async function fileOf(name: string, content: string | Buffer): Promise<string> {
  await writeFile(join(dir, name), content);
  return join(dir, name);
}

it('takes the place of the member, as JSON or as YAML', async () => {
  const yaml = `version: "1.0"\ntype: cedarv1\ncedar:\n  policies:\n    - |-\n      ${OPEN}\n`;
  expect(await read(await fileOf('a.json', JSON.stringify(documentOf(OPEN))))).toEqual(documentOf(OPEN));
  expect(await read(await fileOf('a.yaml', yaml))).toEqual(documentOf(OPEN));
});

it('row 109: must be UTF-8', async () => {
  const latin1 = Buffer.from(`{"cedar":{"policies":["// \u00FC\\n${OPEN}"]}}`, 'latin1');
  const [problem] = (await read(await fileOf('latin1.json', latin1))) as string[];
  expect(problem).toBe('authz_config_path: latin1.json is not UTF-8: save it in that encoding [AuthzInvalid]');
});

it.each([
  ['no document', '{', /^authz_config_path: x is neither JSON nor YAML: .+ \[AuthzInvalid\]$/u],
  ['nothing', '', /^authz_config_path: x holds no document with policies: .+ \[AuthzInvalid\]$/u],
  ['null', 'null', /^authz_config_path: x holds no document with policies: .+ \[AuthzInvalid\]$/u],
  ['a list', '[]', /^authz_config_path: x holds no document with policies: .+ \[AuthzInvalid\]$/u],
  [
    'another type',
    JSON.stringify({ ...documentOf(OPEN), type: 'httpv1' }),
    /^authz_config_path: x: type: .+ \[InvalidValue\]$/u,
  ],
  [
    'an unknown field',
    JSON.stringify({ ...documentOf(OPEN), more: 1 }),
    /^authz_config_path: x: more: .+ \[UnknownField\]$/u,
  ],
  [
    'a policy with a mistake',
    JSON.stringify(documentOf(OPEN, 'permit(\nprincipal)')),
    /^authz_config_path: x: cedar.policies\[1\]: line 2, column 11: .+ \[AuthzInvalid\]$/u,
  ],
  [
    'an alias bomb',
    `a: &a [1,2,3,4,5,6,7,8,9]\nb: &b [${'*a,'.repeat(50)}]\nc: [${'*b,'.repeat(200)}]`,
    /\[AuthzInvalid\]$/u,
  ],
  ['too many bytes', ' '.repeat(1_100_000), /\[AuthzInvalid\]$/u],
])('is refused with %s', async (_what, content, expected) => {
  expect(await read(await fileOf('x', content))).toEqual([expect.stringMatching(expected)]);
});

it('is refused when it is missing, or beside the member', async () => {
  expect(await read(join(dir, 'none'))).toEqual([
    expect.stringMatching(/^authz_config_path: none cannot be read .+ \[FileNotFound\]$/u),
  ]);
  expect(await read(await fileOf('b', '{}'), { authz_config: documentOf(OPEN) })).toEqual([
    'authz_config_path: set authz_config or authz_config_path, not both: remove one [RuleViolated]',
  ]);
});

it('is refused outside of the mounted folders of a pod, also through a link', async () => {
  const folder = join(dir, 'mounted');
  await mkdir(folder);
  const outside = await fileOf('outside', JSON.stringify(documentOf(OPEN)));
  await symlink(outside, join(folder, 'link'));
  const cluster = {
    backends_config_map: 'b',
    virtual_mcp_server: 'v',
    reporting_interval: '30s',
    mounted_folders: [folder],
  };
  const vmcp = { namespace: 'team', cluster };
  for (const file of [outside, join(folder, '..', 'outside'), join(folder, 'link')]) {
    expect(await read(file, { vmcp })).toEqual([expect.stringMatching(/^authz_config_path: .+ \[PathNotMounted\]$/u)]);
  }
  await writeFile(join(folder, 'policy'), JSON.stringify(documentOf(OPEN)));
  expect(await read(join(folder, 'policy'), { vmcp })).toEqual(documentOf(OPEN));
});

it('needs users', async () => {
  const file = await fileOf('c', JSON.stringify(documentOf(OPEN)));
  expect(await read(file, { oidc_config: undefined, vmcp: { incoming: { type: 'anonymous' } } })).toEqual([
    expect.stringMatching(/anonymous clients have no user/u),
  ]);
});
