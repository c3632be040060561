import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Value } from 'typebox/value';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { blockScope, testScope } from '../../../e2e/harness/scope.ts';
import type { ManagementApiOptions } from '../management-api.ts';
import { OPERATIONS } from '../operations.ts';
import { startManagementServer, type Answer } from '../testdata/management-server.ts';
import { startGitServer, type GitServer } from './testdata/git-server.ts';
import { startOciRegistry, type OciRegistry } from './testdata/oci-registry.ts';
import { skillFiles } from './testdata/skill-files.ts';
import { tarOf } from './testdata/tar.ts';

const P = '/api/v1beta/skills';
const scope = blockScope();
let git: GitServer;
let registry: OciRegistry;

beforeAll(async () => {
  [git, registry] = await Promise.all([startGitServer(scope), startOciRegistry(scope)]);
  registry.push('team/fonts', 'latest', skillFiles('fonts'));
  registry.push('team/ocr', 'latest', skillFiles('ocr', { requires: [oci('fonts')] }));
  registry.push('team/plain', 'latest', skillFiles('plain', { version: '1.0' }));
  registry.push('team/renamed', 'latest', skillFiles('other'), { name: 'renamed' });
  registry.push('team/chicken', 'latest', skillFiles('chicken', { requires: [oci('egg')] }));
  registry.push('team/egg', 'latest', skillFiles('egg', { requires: [oci('chicken')] }));
  const pdf = Object.entries(skillFiles('pdf', { version: '2.1', requires: [oci('ocr'), oci('fonts')] }));
  git.commit('team/skills', Object.fromEntries(pdf.map(([path, text]) => [`pdf/${path}`, text])), 'v1.0');
});

const oci = (name: string, version = ''): string => `${registry.host}/team/${name}${version}`;
const pdf = (): string => `git://${git.host}/team/skills@v1.0#pdf`;

/** Starts the API for a user who has Cursor and Claude Code, and a project. */
async function start(options: Partial<ManagementApiOptions> = {}) {
  const project = realpathSync(mkdtempSync(join(tmpdir(), 'vmcp-project-')));
  testScope().defer(() => rmSync(project, { recursive: true, force: true }));
  mkdirSync(join(project, '.git'));
  const env = { PATH: process.env['PATH'] };
  const server = await startManagementServer({ env, allowPrivateIp: true, ...options });
  mkdirSync(join(server.home, '.cursor'));
  writeFileSync(join(server.home, '.claude.json'), '{}');
  const send = async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const answer = await server.send(method, path, body);
    checkShape(method, path, answer);
    return answer;
  };
  const install = (name: string, more: object = {}): Promise<Answer> => send('POST', P, { name, ...more });
  const groupSkills = async (): Promise<unknown> => {
    const { json } = await server.send('GET', '/api/v1beta/groups/default');
    return (json as { skills?: string[] }).skills;
  };
  return { ...server, project, send, install, groupSkills };
}

/** Checks a successful answer with the schema of its operation, and that no other member is sent. */
function checkShape(method: string, path: string, { status, json }: Answer): void {
  const address = path.replace(/\/?(?:\?.*)?$/u, '');
  const pattern = [P, `${P}/validate`, `${P}/upgrade`, `${P}/content`].includes(address) ? address : `${P}/{name}`;
  const operation = OPERATIONS.find((each) => each.method === method && each.path === pattern);
  const schema = operation?.success.body;
  if (status !== operation?.success.status || !schema) return;
  expect([...Value.Errors(schema, json)]).toEqual([]);
  expect(Value.Clean(schema, structuredClone(json))).toEqual(json);
}

const names = ({ json }: Answer): string[] =>
  (json as { skills: { metadata: { name: string } }[] }).skills.map(({ metadata }) => metadata.name);
const skillFolders = (root: string): string[] =>
  ['.cursor/skills', '.claude/skills', '.kiro/skills']
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`));

const BOTH = ['.cursor/skills/fonts', '.cursor/skills/ocr', '.cursor/skills/pdf', '.claude/skills/fonts', '.claude/skills/ocr', '.claude/skills/pdf']; // oxfmt-ignore

describe('a skill with dependencies', () => {
  it('is installed, listed, shown and uninstalled for the user', async () => {
    const { send, install, home, groupSkills } = await start();
    const installed = await install(pdf());
    expect([installed.status, installed.text]).toEqual([201, expect.stringContaining('"pdf"')]);
    expect(installed.headers.get('location')).toBe(`${P}/pdf`);
    expect(installed.json).toMatchObject({
      skill: {
        metadata: { name: 'pdf', version: '2.1', description: 'Does pdf.', author: 'Ann', tags: ['office', 'forms'] },
        scope: 'user',
        status: 'installed',
        tag: 'v1.0',
        clients: ['claude-code', 'cursor'],
        dependencies: [{ name: 'ocr' }, { name: 'fonts' }],
        managed: true,
      },
    });
    expect(skillFolders(home)).toEqual(BOTH);
    expect(readFileSync(join(home, '.claude/skills/pdf/scripts/run.sh'), 'utf8')).toBe('run pdf');
    expect(names(await send('GET', P))).toEqual(['fonts', 'ocr', 'pdf']);
    expect(await groupSkills()).toEqual(['fonts', 'ocr', 'pdf']);
    const { skill } = installed.json as { skill: { metadata: object } };
    const details = { metadata: skill.metadata, installed_skill: skill, unsigned: true };
    expect((await send('GET', `${P}/pdf`)).json).toEqual(details);
    const removed = await send('DELETE', `${P}/pdf`);
    expect([removed.status, removed.text]).toEqual([204, '']);
    expect([skillFolders(home), await groupSkills()]).toEqual([[], undefined]);
    expect(names(await send('GET', `${P}/`))).toEqual([]);
    expect(readdirSync(join(home, '.cursor'))).toEqual([]); // else the client would count as not installed
    expect(readdirSync(join(home, 'skill-downloads'))).toEqual([]);
  });

  it('is pinned by the lock file of a project', async () => {
    const { send, install, home, project } = await start();
    const choice = { scope: 'project', project_root: project };
    writeFileSync(join(project, 'skills.lock.yaml'), 'version: 1\nskills: []\nplugins: [{ name: mine }]\n');
    expect((await install(pdf(), choice)).status).toBe(403);
    const installed = await install(pdf(), { ...choice, allow_unsigned: true });
    expect(installed.json).toMatchObject({ skill: choice });
    expect([skillFolders(project), skillFolders(home)]).toEqual([BOTH, []]);
    const lock = (): unknown => parse(readFileSync(join(project, 'skills.lock.yaml'), 'utf8'));
    expect(lock()).toMatchObject({
      version: 1,
      skills: [
        { name: 'fonts', source: oci('fonts'), requiredBy: ['ocr', 'pdf'], unsigned: true },
        { name: 'ocr', source: oci('ocr'), requiredBy: ['pdf'] },
        {
          name: 'pdf',
          source: pdf(),
          version: '2.1',
          explicit: true,
          contentDigest: expect.stringMatching(/^sha256:/u),
        },
      ],
      plugins: [{ name: 'mine' }],
    });
    const query = `scope=project&project_root=${encodeURIComponent(project)}`;
    expect((await send('GET', `${P}/pdf`)).status).toBe(404);
    expect((await send('GET', `${P}/pdf?${query}`)).status).toBe(200);
    await install(oci('fonts'), { project_root: project, allow_unsigned: true });
    expect((await send('DELETE', `${P}/pdf?${query}`)).status).toBe(204);
    expect(names(await send('GET', `${P}?${query}`))).toEqual(['fonts']);
    expect(lock()).toMatchObject({ skills: [{ name: 'fonts', explicit: true }] });
  });
});

it('uninstalls the skills of a project whose folder is gone', async () => {
  const { send, install, project, groupSkills } = await start();
  const query = `scope=project&project_root=${encodeURIComponent(project)}`;
  for (const name of ['ocr', 'plain']) await install(oci(name), { project_root: project, allow_unsigned: true });
  rmSync(project, { recursive: true });
  expect((await send('DELETE', `${P}/none?${query}`)).status).toBe(404);
  expect((await send('DELETE', `${P}/ocr?${query}`)).status).toBe(204);
  expect([names(await send('GET', P)), existsSync(project)]).toEqual([['plain'], false]);
  expect((await send('DELETE', `${P}/plain?${query}`)).status).toBe(204);
  expect([names(await send('GET', P)), await groupSkills(), existsSync(project)]).toEqual([[], undefined, false]);
  expect((await send('DELETE', `${P}/ocr?${query}`)).status).toBe(400);
});

describe('upgrading', () => {
  const outcomesOf = ({ json }: Answer) =>
    (json as { outcomes: { name: string; status: string }[] }).outcomes.map(({ name, status }) => `${name} ${status}`);

  it('replaces a skill that has changed at its source, for the same clients and groups', async () => {
    const { send, install, home, groupSkills } = await start();
    registry.push('team/rising', 'latest', skillFiles('rising'));
    registry.push('team/pinned', 'latest', skillFiles('pinned'));
    const pinned = await install(oci('pinned'), { clients: ['cursor'] });
    const { reference } = (pinned.json as { skill: { reference: string } }).skill;
    await send('DELETE', `${P}/pinned`);
    await install(reference, { clients: ['cursor'] });
    await install(oci('rising'), { clients: ['cursor'] });
    const commit = git.commit('team/tools', skillFiles('tools'));
    await install(`git://${git.host}/team/tools@${commit}`, { clients: ['cursor'] });
    registry.push('team/rising', 'latest', skillFiles('rising', { version: '2', requires: [oci('fonts')] }));
    const plan = await send('POST', `${P}/upgrade`, { preview: true });
    expect(outcomesOf(plan)).toEqual(['pinned not-upgradable', 'rising upgraded', 'tools not-upgradable']);
    expect(names(await send('GET', P))).toEqual(['pinned', 'rising', 'tools']);
    const done = await send('POST', `${P}/upgrade`, {});
    expect(done.json).toEqual(plan.json);
    expect((await send('GET', `${P}/rising`)).json).toMatchObject({
      installed_skill: { metadata: { version: '2' }, clients: ['cursor'], dependencies: [{ name: 'fonts' }] },
    });
    expect(skillFolders(home).map((folder) => folder.split('/').pop())).toEqual(['fonts', 'pinned', 'rising', 'tools']);
    expect(await groupSkills()).toEqual(['fonts', 'pinned', 'rising', 'tools']);
    const again = await send('POST', `${P}/upgrade`, { names: ['rising', 'fonts'] });
    expect(outcomesOf(again)).toEqual(['fonts up-to-date', 'rising up-to-date']);
    await send('DELETE', `${P}/rising`);
    expect(names(await send('GET', P))).toEqual(['pinned', 'tools']);
  });

  it('upgrades a skill that needs another one before that one, and skips what is needed no longer', async () => {
    const { send, install, groupSkills } = await start();
    const push = (body: string, requires: readonly string[]): void => {
      registry.push('team/zone', 'latest', skillFiles('zone', { body }));
      registry.push('team/area', 'latest', skillFiles('area', { body, requires }));
    };
    push('1', [oci('zone')]);
    await install(oci('area'));
    push('2', [oci('zone')]);
    expect(outcomesOf(await send('POST', `${P}/upgrade`, {}))).toEqual(['area upgraded', 'zone upgraded']);
    push('3', []);
    expect(outcomesOf(await send('POST', `${P}/upgrade`, {}))).toEqual(['area upgraded']);
    expect([names(await send('GET', P)), await groupSkills()]).toEqual([['area'], ['area']]);
  });

  it('reports each failure, and rejects names that are not installed', async () => {
    const { send, install, project } = await start();
    const choice = { scope: 'project', project_root: project };
    registry.push('team/fading', 'latest', skillFiles('fading'));
    await install(oci('fading'), { ...choice, allow_unsigned: true });
    registry.push('team/fading', 'latest', skillFiles('other'), { name: 'fading' });
    const { json } = await send('POST', `${P}/upgrade`, choice);
    expect(json).toMatchObject({ outcomes: [{ name: 'fading', status: 'failed', reason: 'unusable_skill' }] });
    expect((await send('POST', `${P}/upgrade`, { ...choice, names: ['none'] })).status).toBe(404);
    expect((await send('POST', `${P}/upgrade`, { scope: 'project' })).status).toBe(400);
    expect((await send('POST', `${P}/upgrade`, { names: ['../x'] })).status).toBe(400);
  });
});

describe('installing', () => {
  it('again changes nothing, and a new client gets its folder', async () => {
    const { install, home } = await start();
    const first = await install(oci('plain'), { clients: ['cursor'] });
    const again = await install(oci('plain', ':latest'), { clients: ['cursor'] });
    expect([again.status, again.json]).toEqual([201, first.json]);
    const more = await install(oci('plain'), { clients: ['kiro'] });
    expect(more.json).toMatchObject({ skill: { clients: ['cursor', 'kiro'] } });
    expect(skillFolders(home)).toEqual(['.cursor/skills/plain', '.kiro/skills/plain']);
  });

  it('again writes a folder that is missing, also of a client that the request does not name', async () => {
    const { install, home } = await start();
    await install(oci('plain'), { clients: ['cursor', 'kiro'] });
    for (const client of ['.cursor', '.kiro']) rmSync(join(home, client, 'skills/plain'), { recursive: true });
    expect((await install(oci('plain'), { clients: ['cursor'] })).status).toBe(201);
    expect(skillFolders(home)).toEqual(['.cursor/skills/plain', '.kiro/skills/plain']);
  });

  it('another version replaces the folders, and removes dependencies that it needs no longer', async () => {
    const { send, install, home } = await start();
    registry.push('team/moving', 'latest', skillFiles('moving', { requires: [oci('fonts')] }));
    await install(oci('moving'));
    registry.push('team/moving', 'latest', { ...skillFiles('moving', { version: '2' }), new: 'x' });
    expect((await install(oci('moving'))).json).toMatchObject({ skill: { metadata: { version: '2' } } });
    expect(names(await send('GET', P))).toEqual(['moving']);
    expect(readdirSync(join(home, '.cursor/skills/moving')).toSorted()).toEqual(['SKILL.md', 'new', 'scripts']);
    expect(skillFolders(home)).toEqual(['.cursor/skills/moving', '.claude/skills/moving']);
  });

  it('overwrites a folder of the user only with force', async () => {
    const { send, install, home } = await start();
    mkdirSync(join(home, '.cursor/skills/plain'), { recursive: true });
    writeFileSync(join(home, '.cursor/skills/plain/mine'), '');
    const refused = await install(oci('plain'));
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('.cursor/skills/plain exists')]);
    expect([skillFolders(home), names(await send('GET', P))]).toEqual([['.cursor/skills/plain'], []]);
    expect((await install(oci('plain'), { force: true })).status).toBe(201);
    expect(existsSync(join(home, '.cursor/skills/plain/mine'))).toBe(false);
  });

  it('replaces no installed skill by a needed one of another repository, except with force', async () => {
    const { install, home } = await start();
    registry.push('good/atlas', 'latest', skillFiles('atlas', { body: 'good' }));
    registry.push('other/atlas', 'latest', skillFiles('atlas', { body: 'other' }));
    registry.push('other/trip', 'latest', skillFiles('trip', { requires: [`${registry.host}/other/atlas`] }));
    const atlas = (): string => readFileSync(join(home, '.cursor/skills/atlas/SKILL.md'), 'utf8').split('---\n').pop()!;
    await install(`${registry.host}/good/atlas`);
    const refused = await install(`${registry.host}/other/trip`);
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining(`${registry.host}/good/atlas@`)]);
    expect([atlas(), existsSync(join(home, '.cursor/skills/trip'))]).toEqual(['good', false]);
    expect((await install(`${registry.host}/other/trip`, { force: true })).status).toBe(201);
    expect(atlas()).toBe('other');
  });

  it('undoes all changes when a later step fails', async () => {
    const { send, install, project, groupSkills } = await start();
    writeFileSync(join(project, 'skills.lock.yaml'), 'version: 2\n');
    const choice = { scope: 'project', project_root: project, allow_unsigned: true };
    expect((await install(oci('ocr'), choice)).status).toBe(500);
    rmSync(join(project, 'skills.lock.yaml'));
    mkdirSync(join(project, 'skills.lock.yaml.lock'));
    expect((await install(oci('ocr'), choice)).status).toBe(500);
    rmSync(join(project, 'skills.lock.yaml.lock'), { recursive: true });
    expect(readdirSync(project)).toEqual(['.git']);
    expect([names(await send('GET', P)), await groupSkills()]).toEqual([[], undefined]);
  });

  it('of one skill by two callers at once gives one record', async () => {
    const { send, install } = await start();
    const answers = await Promise.all([install(oci('ocr')), install(oci('ocr')), install(oci('fonts'))]);
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(names(await send('GET', P))).toEqual(['fonts', 'ocr']);
  });

  it('finds a plain name in a registry', async () => {
    const { install, send, home } = await start();
    const skill = (namespace: string, packages: object[]) => ({ namespace, name: 'plain', description: 'A skill.', version: '1.0.0', packages }); // oxfmt-ignore
    const publish = async (...skills: object[]): Promise<void> => {
      const local_path = join(home, 'registry-document.json');
      const meta = { last_updated: '2026-01-01T00:00:00Z' };
      writeFileSync(local_path, JSON.stringify({ version: '1.0.0', meta, data: { servers: [], skills } }));
      expect(await send('PUT', '/api/v1beta/registry/default', { local_path })).toMatchObject({ status: 200 });
    };
    const packages = [{ registryType: 'oci', identifier: oci('plain') }];
    await publish(skill('io.github.a', packages));
    expect((await install('plain')).status).toBe(201);
    expect((await install(`${registry.host}/plain`)).status).toBe(404);
    await publish(skill('io.github.a', packages), skill('io.github.b', packages));
    expect((await install('plain')).status).toBe(409);
    await publish(skill('io.github.a', []));
    expect((await install('plain')).status).toBe(422);
    rmSync(join(home, 'registry-document.json'));
    const { status, text } = await install('plain');
    expect([status, text]).toEqual([502, expect.stringContaining('the registry cannot be read')]);
  });

  it('sends no token for any host to the host of a registry entry', async () => {
    git.commit('team/solo', skillFiles('solo'));
    const { install, send, home } = await start({ env: { PATH: process.env['PATH'], GIT_TOKEN: 's3cret' } });
    const packages = [{ registryType: 'git', url: `https://${git.host}/team/solo` }];
    const skills = [{ namespace: 'io.github.a', name: 'solo', description: 'A skill.', version: '1.0.0', packages }];
    const local_path = join(home, 'registry-document.json');
    const meta = { last_updated: '2026-01-01T00:00:00Z' };
    writeFileSync(local_path, JSON.stringify({ version: '1.0.0', meta, data: { servers: [], skills } }));
    await send('PUT', '/api/v1beta/registry/default', { local_path });
    const before = git.authorizations.length;
    expect((await install('solo')).status).toBe(201);
    expect(new Set(git.authorizations.slice(before))).toEqual(new Set([undefined]));
    expect((await install(`git://${git.host}/team/solo`)).status).toBe(201);
    expect(git.authorizations.at(-1)).toMatch(/^Basic /u);
  });

  it.each<[string, () => object, number]>([
    ['no name', () => ({}), 400],
    ['an invalid name', () => ({ name: 'Not A Name' }), 400],
    ['an invalid git reference', () => ({ name: 'git://host' }), 400],
    ['an unknown scope', () => ({ name: oci('plain'), scope: 'all' }), 400],
    ['the scope project without a root', () => ({ name: oci('plain'), scope: 'project' }), 400],
    ['a root with the scope user', () => ({ name: oci('plain'), scope: 'user', project_root: '/' }), 400],
    ['a relative root', () => ({ name: oci('plain'), project_root: 'a' }), 400],
    ['a root without git', () => ({ name: oci('plain'), project_root: '/' }), 400],
    ['an unknown client', () => ({ name: oci('plain'), clients: ['nobody'] }), 400],
    ['a client without skills', () => ({ name: oci('plain'), clients: ['zed'] }), 400],
    ['all clients and one more', () => ({ name: oci('plain'), clients: ['all', 'cursor'] }), 400],
    ['an empty client', () => ({ name: oci('plain'), clients: [''] }), 400],
    ['an unknown group', () => ({ name: oci('plain'), group: 'nobody' }), 404],
    ['a skill that no registry has', () => ({ name: 'plain' }), 404],
    ['an artifact that does not exist', () => ({ name: oci('none') }), 404],
    ['a public key', () => ({ name: oci('plain'), public_key: 'MCow' }), 403],
    ['a skill of another name than its repository', () => ({ name: oci('renamed') }), 422],
    ['skills that need each other', () => ({ name: oci('chicken') }), 422],
    ['a registry that cannot be reached', () => ({ name: '127.0.0.1:1/team/plain' }), 502],
  ])('answers %s with its status', async (_, body, status) => {
    const { send, home } = await start();
    const answer = await send('POST', P, body());
    expect([answer.status, answer.text]).toEqual([status, expect.stringMatching(/^.+\n$/u)]);
    expect([names(await send('GET', P)), skillFolders(home)]).toEqual([[], []]);
  });

  it('passes the statuses of a registry on, and finds no client where there is none', async () => {
    const { install, home } = await start();
    const failing = await startOciRegistry(testScope());
    for (const [theirs, ours] of [
      [401, 401],
      [403, 401],
      [429, 429],
      [503, 502],
    ] as const) {
      failing.fail(theirs);
      expect((await install(`${failing.host}/team/plain`)).status).toBe(ours);
    }
    rmSync(join(home, '.cursor'), { recursive: true });
    rmSync(join(home, '.claude.json'));
    expect((await install(oci('plain'))).status).toBe(400);
  });

  it('refuses sources on this machine without the option, except an OCI registry that the user names', async () => {
    const { install, send, home } = await start({ allowPrivateIp: false });
    expect((await install(oci('plain'))).status).toBe(201);
    const git = await install(pdf());
    const dependency = await install(oci('ocr'));
    for (const { status, text } of [git, dependency]) {
      expect([status, text]).toEqual([400, expect.stringContaining('is not on a public host with https')]);
    }
    const local_path = join(home, 'local.json');
    const packages = [{ registryType: 'oci', identifier: oci('plain') }];
    const skills = [{ namespace: 'io.github.a', name: 'listed', description: 'A skill.', version: '1.0.0', packages }];
    const meta = { last_updated: '2026-01-01T00:00:00Z' };
    writeFileSync(local_path, JSON.stringify({ version: '1.0.0', meta, data: { servers: [], skills } }));
    expect(await send('PUT', '/api/v1beta/registry/default', { local_path })).toMatchObject({ status: 200 });
    expect((await install('listed')).status).toBe(400);
  });
});

describe('row 105: files of a skill that git or an agent obeys', () => {
  const entries = (name: string, more: Readonly<Record<string, string>>): Record<string, string> => ({
    ...skillFiles(name),
    ...more,
  });

  it.each<[string, Readonly<Record<string, string>>]>([
    ['a repository', { '.git/HEAD': 'ref: refs/heads/main', '.git/config': '[user]\n\tname = Mallory\n' }],
    ['a link to a repository', { 'assets/.GIT': 'gitdir: ../elsewhere' }],
    ['a bare repository', { HEAD: 'ref: refs/heads/main', 'objects/info/x': '', 'refs/heads/x': '' }],
    ['two names that differ in case', { 'scripts/RUN.sh': 'other' }],
  ])('refuses %s, whatever its source, and leaves nothing behind', async (_, more) => {
    const { send, install, home } = await start();
    registry.push('team/armed', 'latest', tarOf(entries('armed', more)));
    const refused = await install(oci('armed'));
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('is not allowed')]);
    expect((await send('GET', `${P}/content?ref=${encodeURIComponent(oci('armed'))}`)).status).toBe(422);
    registry.push('team/carrier', 'latest', skillFiles('carrier', { requires: [oci('armed')] }));
    expect((await install(oci('carrier'))).status).toBe(422);
    expect([skillFolders(home), readdirSync(join(home, 'skill-downloads'))]).toEqual([[], []]);
  });

  it('leaves out hidden files and instructions for agents, and says so', async () => {
    const { send, install, home } = await start();
    const more = { '.envrc': 'true', '.claude/settings.json': '{}', 'references/AGENTS.md': '', 'assets/a.txt': '' };
    registry.push('team/quiet', 'latest', entries('quiet', more));
    registry.push('team/both', 'latest', { ...skillFiles('both', { requires: [oci('quiet')] }), 'CLAUDE.md': '' });
    const installed = await install(oci('both'));
    const ofQuiet = ['quiet/.claude/', 'quiet/.envrc', 'quiet/references/AGENTS.md'];
    expect(installed).toMatchObject({ status: 201, json: { left_out: [...ofQuiet, 'both/CLAUDE.md'] } });
    const files = readdirSync(join(home, '.cursor/skills/quiet'), { recursive: true }).toSorted();
    expect(files).toEqual(['SKILL.md', 'assets', 'assets/a.txt', 'scripts', 'scripts/run.sh']);
    const { json } = await send('GET', `${P}/content?ref=${encodeURIComponent(oci('quiet'))}`);
    expect(json).toMatchObject({ left_out: ['.claude/', '.envrc', 'references/AGENTS.md'] });
    expect((json as { files: object[] }).files).toHaveLength(3);
    registry.push('team/quiet', 'latest', { ...entries('quiet', more), new: '' });
    const upgraded = await send('POST', `${P}/upgrade`, { names: ['quiet'] });
    expect(upgraded.json).toMatchObject({ outcomes: [{ status: 'upgraded', left_out: ofQuiet }] });
  });

  it('says so about a dry run of a folder', async () => {
    const { send, home } = await start();
    const folder = join(home, 'pdf');
    const check = async (more: Readonly<Record<string, string>>): Promise<unknown> => {
      rmSync(folder, { recursive: true, force: true });
      for (const [path, text] of Object.entries({ ...skillFiles('pdf'), ...more })) {
        mkdirSync(dirname(join(folder, path)), { recursive: true });
        writeFileSync(join(folder, path), text);
      }
      return (await send('POST', `${P}/validate`, { path: folder })).json;
    };
    expect(await check({})).toEqual({ valid: true });
    expect(await check({ 'assets/.git': '' })).toMatchObject({
      valid: false,
      errors: [expect.stringContaining('.git')],
    });
    expect(await check({ 'Assets/a': '', 'assets/b': '' })).toMatchObject({ valid: false });
    expect(await check({ '.envrc': '', '.git/HEAD': '' })).toEqual({
      valid: true,
      warnings: ['.envrc is not installed: its name is hidden', '.git/ is not installed: its name is hidden'],
    });
  });
});

describe('listing, showing and uninstalling', () => {
  it('filters by scope, client and group', async () => {
    const { send, install } = await start();
    await install(oci('plain'), { clients: ['cursor'] });
    expect(names(await send('GET', `${P}?scope=user&client=cursor&group=default`))).toEqual(['plain']);
    expect(names(await send('GET', `${P}?scope=project`))).toEqual([]);
    expect(names(await send('GET', `${P}?client=curs`))).toEqual([]);
  });

  it.each([
    ['GET', `${P}?group=nobody`, 404],
    ['GET', `${P}?scope=all`, 400],
    ['GET', `${P}?project_root=relative`, 400],
    ['GET', `${P}/Bad`, 400],
    ['GET', `${P}/none`, 404],
    ['GET', `${P}/none?scope=all`, 400],
    ['GET', `${P}/none?project_root=/`, 400],
    ['DELETE', `${P}/Bad`, 400],
    ['DELETE', `${P}/none`, 404],
    ['DELETE', `${P}/none?scope=project`, 400],
    ['PUT', `${P}/none`, 405],
  ])('answers %s %s with %i', async (method, path, status) => {
    const { send } = await start();
    expect((await send(method, path)).status).toBe(status);
  });

  it.each(['upgrade', 'content', 'validate'])(
    'uninstalls a skill of the name %j of another operation',
    async (name) => {
      const { send, install } = await start();
      registry.push(`team/${name}`, 'latest', skillFiles(name));
      await install(oci(name));
      expect((await send('DELETE', `${P}/${name}`)).status).toBe(204);
      expect(names(await send('GET', P))).toEqual([]);
    },
  );

  it('does not delete through a link that the user has put in place', async () => {
    const { send, install, home } = await start();
    await install(oci('plain'), { clients: ['cursor', 'claude-code'] });
    const folder = join(home, '.cursor/skills/plain');
    rmSync(folder, { recursive: true });
    symlinkSync(join(home, '.claude'), folder);
    expect((await send('DELETE', `${P}/plain`)).status).toBe(500);
    expect(skillFolders(home)).toEqual(['.cursor/skills/plain', '.claude/skills/plain']);
    rmSync(folder);
    expect((await send('DELETE', `${P}/plain`)).status).toBe(204);
    expect(skillFolders(home)).toEqual([]);
  });
});

describe('reading a skill', () => {
  it('returns its text and files, and installs nothing', async () => {
    const { send, home } = await start();
    const { status, json } = await send('GET', `${P}/content?ref=${encodeURIComponent(oci('plain'))}`);
    expect(status).toBe(200);
    expect(json).toMatchObject({ name: 'plain', description: 'Does plain.', version: '1.0', body: '# Skill\n' });
    const { files } = json as { files: object[] };
    expect(files).toEqual([
      { path: 'SKILL.md', size: expect.any(Number) },
      { path: 'scripts/run.sh', size: 'run plain'.length },
    ]);
    expect([skillFolders(home), readdirSync(join(home, 'skill-downloads'))]).toEqual([[], []]);
  });

  it.each([
    ['', 400],
    ['?ref=', 400],
    ['?ref=git://host', 400],
    ['?ref=plain', 404],
  ])('answers %j with %i', async (query, status) => {
    const { send } = await start();
    expect((await send('GET', `${P}/content${query}`)).status).toBe(status);
  });
});

describe('validating', () => {
  it('reports errors and warnings', async () => {
    const { send, home } = await start();
    const folder = join(home, 'pdf');
    const check = async (): Promise<unknown> => (await send('POST', `${P}/validate`, { path: folder })).json;
    expect(await check()).toEqual({ valid: false, errors: ['SKILL.md is missing'] });
    mkdirSync(folder);
    writeFileSync(join(folder, 'SKILL.md'), '---\nname: pdf\ndescription: x\nallowed-tools: a,b\n---\n');
    expect(await check()).toEqual({ valid: true, warnings: [expect.stringContaining('allowed-tools')] });
    writeFileSync(join(folder, 'SKILL.md'), Buffer.from('---\nname: pdf\ndescription: \u00FC\n---\n', 'latin1'));
    expect(await check()).toEqual({ valid: false, errors: ['SKILL.md is not UTF-8: save it in that encoding'] }); // row 109
    writeFileSync(join(folder, 'SKILL.md'), '---\nname: pdf\ndescription: x\n---\n');
    symlinkSync('SKILL.md', join(folder, 'link'));
    expect(await check()).toMatchObject({ valid: false, errors: [expect.stringContaining('link is a symbolic link')] });
  });

  it('row 109: rejects a request that is not UTF-8', async () => {
    const { base } = await start();
    const body = Buffer.from('{"path":"/\u00FC"}', 'latin1');
    const reply = await fetch(`${base}${P}/validate`, { method: 'POST', body });
    expect([reply.status, await reply.text()]).toEqual([400, 'body must be UTF-8\n']);
  });

  it.each([
    [{ path: '' }, 400],
    [{}, 400],
    [{ path: 'relative' }, 400],
    [{ path: '/a/../b' }, 400],
    [{ path: '/a\0b' }, 400],
    ['{', 400],
  ])('answers %j with %i', async (body, status) => {
    const { send } = await start();
    expect((await send('POST', `${P}/validate`, body)).status).toBe(status);
  });
});

describe('validate and install', () => {
  const skill = (name: string, more: string): string => `---\nname: ${name}\n${more}\n---\n# Skill\n`;

  it.each([
    ['colon', 'description: Use when: asked', true],
    ['hint', 'description: x\nargument-hint: [a] [b]', true],
    ['nested', 'description: x\nmetadata: { openclaw: { requires: { bins: [uv] } } }', true],
    ['no-skill', 'description: x\nrequires: Python 3.10', false],
    ['unknown-skill', 'description: x\nrequires: [ffmpeg]', false],
    ['no-description', 'license: MIT', false],
    ['long-description', `description: ${'x'.repeat(1025)}`, false],
    ['other-key', 'description: x\nmetadata: [a', false],
  ])('agree about the folder %s', async (name, more, isValid) => {
    const { send, install, home } = await start();
    const folder = join(home, name);
    mkdirSync(folder);
    writeFileSync(join(folder, 'SKILL.md'), skill(name, more));
    git.commit(`agree/${name}`, { [`${name}/SKILL.md`]: skill(name, more) }, 'v1.0');
    const { json } = await send('POST', `${P}/validate`, { path: folder });
    const installed = await install(`git://${git.host}/agree/${name}@v1.0#${name}`);
    expect(json).toMatchObject({ valid: isValid });
    expect([installed.status < 300, installed.text]).toEqual([isValid, expect.stringContaining(isValid ? name : ':')]);
  });

  it('agree about a name that is not the name of the folder', async () => {
    const { install } = await start();
    git.commit('agree/renamed', { 'one/SKILL.md': skill('two', 'description: x') }, 'v1.0');
    const refused = await install(`git://${git.host}/agree/renamed@v1.0#one`);
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('"one"')]);
  });
});
