import { expect, it } from 'vitest';
import { isImmutable, upgradeOutcome } from './upgrade-outcome.ts';

const digest = (letter: string): string => `sha256:${letter.repeat(64)}`;
const oci = (repository: string, letter: string) => ({
  metadata: { name: 'pdf', version: '', description: '', author: '' },
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
  expect(upgradeOutcome(oci('team/pdf', 'a'), found, isMoveAllowed).status).toBe(status);
});

it('names what it found', () => {
  expect(upgradeOutcome(oci('team/pdf', 'a'), oci('team/pdf', 'b'), false)).toEqual({
    name: 'pdf',
    status: 'upgraded',
    old_digest: digest('a'),
    new_digest: digest('b'),
    new_resolved_reference: `ghcr.io/team/pdf@${digest('b')}`,
  });
});

it.each([
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
