import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RunConfig } from '../../../contract/run-config/run-config.ts';
import { runConfigOf } from '../../definition/run-config-of.ts';
import { effectiveConfig } from './effective-config.ts';

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'vmcp-workload-policy-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const OPEN = 'permit(principal, action, resource);';
const policy = (...policies: string[]) => ({ type: 'cedarv1', version: '1.0', cedar: { policies } });
const base: RunConfig = {
  ...runConfigOf('a', { image: 'npx://server' }),
  oidc_config: { issuer: 'https://i.example', audience: 'vmcp' },
};

/** Returns the settings, or the problems without the folder. */
async function read(members: Partial<RunConfig>): Promise<unknown> {
  const result = await effectiveConfig({ ...base, ...members });
  if ('config' in result) return result.config;
  return result.problems.map(
    ({ path, reason, message }) => `${path}: ${message.replaceAll(`${dir}/`, '')} [${reason}]`,
  );
}

async function fileOf(content: string): Promise<string> {
  const file = join(dir, 'policy');
  await writeFile(file, content);
  return file;
}

it('replaces the path by the document, also in a middleware', async () => {
  const file = await fileOf(JSON.stringify(policy(OPEN)));
  const expected = { ...base, authz_config: policy(OPEN) };
  expect(await read({ authz_config_path: file })).toEqual(expected);
  const chain = [{ type: 'authorization', parameters: { config_path: file } }];
  expect(await read({ middleware_configs: chain })).toEqual(expected);
});

it.each([
  ['no document', '{', /^authz_config_path: policy is neither JSON nor YAML: .+ \[AuthzInvalid\]$/u],
  ['an empty one', '', /^authz_config_path: /u],
  [
    'a policy with a mistake',
    JSON.stringify(policy(OPEN, 'permit(')),
    /^authz_config_path: policy: cedar\.policies\[1\]: /u,
  ],
  ['another kind', JSON.stringify({ ...policy(OPEN), type: 'httpv1' }), /^authz_config_path: policy: type: /u],
])('is refused for a file with %s', async (_, content, expected) => {
  expect(await read({ authz_config_path: await fileOf(content) })).toEqual([expect.stringMatching(expected)]);
});

it.each<[string, Partial<RunConfig>]>([
  ['authz_config_path', { authz_config_path: '/none/policy' }],
  ['telemetry_config.caCertPath', { telemetry_config: { endpoint: 'https://o.example', caCertPath: '/none/ca' } }],
  [
    'validating_webhooks[0].hmac_secret_ref',
    { validating_webhooks: [{ name: 'w', url: 'https://h.example', hmac_secret_ref: '/none/key' }] },
  ],
])('is refused without the file of %s', async (path, members) => {
  expect(await read(members)).toEqual([expect.stringContaining(`${path}: /none/`)]);
});

it('does not read the file of an anonymous workload', async () => {
  const { oidc_config: _login, ...anonymous } = base;
  const result = await effectiveConfig({ ...anonymous, authz_config_path: '/none/policy' });
  expect(result).toMatchObject({ problems: [{ path: 'authz_config_path', reason: 'RuleViolated' }] });
});

async function folderOf(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(dir, 'env-'));
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  return folder;
}

it('reads variables from the files of env_file_dir; those of the configuration take precedence', async () => {
  const files = {
    'b.env': 'TOKEN=two\n# comment\n\nexport QUOTED="a b"\r\n',
    'a.env': 'TOKEN=one\nOWN=file\nEMPTY=\nURL=https://x.example/?a=b',
    '.hidden': 'no variables',
  };
  expect(await read({ env_file_dir: await folderOf(files), env_vars: { OWN: 'config' } })).toEqual({
    ...base,
    env_vars: { TOKEN: 'two', QUOTED: 'a b', OWN: 'config', EMPTY: '', URL: 'https://x.example/?a=b' },
  });
  expect(await read({ env_file_dir: '' })).toEqual({ ...base, env_file_dir: '' });
});

it('refuses an env_file_dir that cannot be read, without its content', async () => {
  const wrong = await folderOf({ a: 'A=1\nsecret-value\n' });
  expect(await read({ env_file_dir: wrong })).toEqual([
    expect.stringMatching(
      /^env_file_dir: env-\w+\/a: line 2 is not NAME=VALUE: correct or remove it \[InvalidValue\]$/u,
    ),
  ]);
  expect(await read({ env_file_dir: '/none' })).toEqual([expect.stringContaining('/none cannot be read (ENOENT)')]);
  expect(await read({ env_file_dir: 'env' })).toEqual([expect.stringContaining('absolute path')]);
});

it('replaces the path of a permission profile by the profile', async () => {
  const folder = await folderOf({
    'profile.json': '{"name":"strict","network":{"outbound":{"allow_host":["api.example.com"],"allow_port":[443]}}}',
    'wrong.json': '{"netwrk":{}}',
    'mount.json': '{"read":["relative"]}',
  });
  const image = { image: 'registry.example/server:1' };
  const profile = (name: string) => read({ ...image, permission_profile_name_or_path: join(folder, name) });
  const network = { outbound: { allow_host: ['api.example.com'], allow_port: [443] } };
  expect(await profile('profile.json')).toEqual({ ...base, ...image, permission_profile: { name: 'strict', network } });
  expect(await profile('wrong.json')).toEqual([expect.stringMatching(/wrong\.json: netwrk: /u)]);
  expect(await profile('mount.json')).toEqual([expect.stringContaining('permission_profile.read[0]')]);
  expect(await profile('none.json')).toEqual([expect.stringContaining('cannot be read (ENOENT)')]);
  expect(await read({ ...image, permission_profile_name_or_path: 'network' })).toMatchObject({
    permission_profile_name_or_path: 'network',
  });
});
