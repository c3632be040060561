import { expect, it } from 'vitest';
import type { SkillRecord } from './shapes.ts';
import { isImmutable, upgradeOutcome, upgradeSkills } from './upgrade-skills.ts';

const digest = (letter: string): string => `sha256:${letter.repeat(64)}`;
const NONE = { dependencies: [], installed: [], isMoveAllowed: false };
const oci = (repository: string, letter: string, name = 'pdf') => ({
  metadata: { name, version: '', description: '', author: '' },
  reference: `ghcr.io/${repository}@${digest(letter)}`,
  digest: digest(letter),
});

it.each([
  ['the same digest', oci('team/pdf', 'a'), false, 'up-to-date'],
  ['another digest', oci('team/pdf', 'b'), false, 'upgraded'],
  ['another repository', oci('other/pdf', 'b'), false, 'ref-change-blocked'],
  ['another repository that the user accepts', oci('other/pdf', 'b'), true, 'upgraded'],
  ['the same digest in another repository', oci('other/pdf', 'a'), false, 'up-to-date'],
])('%s', (_, found, isMoveAllowed, status) => {
  expect(upgradeOutcome(oci('team/pdf', 'a'), found, { ...NONE, isMoveAllowed }).status).toBe(status);
});

it('names what it found', () => {
  expect(upgradeOutcome(oci('team/pdf', 'a'), oci('team/pdf', 'b'), NONE)).toEqual({
    name: 'pdf',
    status: 'upgraded',
    old_digest: digest('a'),
    new_digest: digest('b'),
    new_resolved_reference: `ghcr.io/team/pdf@${digest('b')}`,
  });
});

it.each([
  ['of another repository is', oci('other/fonts', 'b', 'fonts'), 'ref-change-blocked'],
  ['of the same repository is not', oci('team/fonts', 'b', 'fonts'), 'upgraded'],
  ['that is new is not', oci('other/new', 'b', 'new'), 'upgraded'],
])('a dependency %s blocked with the skill that needs it', (_, dependency, status) => {
  const facts = { ...NONE, dependencies: [dependency], installed: [oci('team/fonts', 'a', 'fonts')] };
  expect(upgradeOutcome(oci('team/pdf', 'a'), oci('team/pdf', 'b'), facts).status).toBe(status);
});

it.each([
  [`git://github.com/team/skills@${'A'.repeat(40)}`, true],
  [`git://github.com/team/skills@${'a'.repeat(40)}#pdf`, true],
  ['git://github.com/team/skills@v1.2#pdf', false],
  ['git://github.com/team/skills', false],
  [`ghcr.io/team/pdf@${digest('a')}`, true],
  [`ghcr.io/team/pdf:1.2@${digest('a')}`, true],
  ['ghcr.io/team/pdf:1.2', false],
  ['pdf', false],
])('%s always leads to the same files: %s', (source, expected) => {
  expect(isImmutable(source)).toBe(expected);
});

const metadata = { name: 'pdf', version: '', description: '', author: '' };
const record: SkillRecord = {
  ...{ metadata, scope: 'user', installed_at: '', clients: [], dependencies: [], content_digest: '', explicit: true },
  ...{ source: 'team/pdf', reference: 'git://github.com/team/pdf@a', tag: 'feature/x', digest: 'a' },
};
const found = {
  metadata,
  requires: [],
  folder: '',
  bytes: 0,
  contentDigest: '',
  reference: record.reference,
  digest: 'a',
};

/** Returns the versions that an upgrade of the record asks for. */
async function versionsFor(installed: SkillRecord): Promise<(string | undefined)[]> {
  const versions: (string | undefined)[] = [];
  const deps = {
    download: async ({ version }: { readonly version?: string | undefined }) => {
      versions.push(version);
      return found;
    },
    installed: async () => [installed],
    apply: async () => undefined,
  };
  await upgradeSkills([installed], {}, deps, new AbortController().signal);
  return versions;
}

it('asks for the tag again that the user has named beside a name without one', async () => {
  expect(
    await versionsFor({ ...record, reference: `docker.io/team/pdf@sha256:${'b'.repeat(64)}`, tag: '1.2' }),
  ).toEqual(['1.2']);
});

it('does not take the branch of a registry entry for such a tag', async () => {
  expect(await versionsFor(record)).toEqual([undefined]);
});
