import { expect, it } from 'vitest';
import type { SkillRecord } from '../installed-skill.ts';
import { upgradeSkills } from './upgrade-skills.ts';

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
