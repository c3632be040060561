import { expect, it } from 'vitest';
import { planInstall, type InstallFacts } from './apply-install.ts';

const FACTS: InstallFacts = {
  recorded: undefined,
  digest: '1',
  contentDigest: 'a',
  clients: ['cursor'],
  folderOf: (client) => (client.startsWith('agent') ? '/agents' : `/${client}`),
  existing: new Set(),
  force: false,
};
const recorded = (digest: string, ...clients: string[]) => ({ recorded: { digest, content_digest: 'a', clients } });
const plan = (change: Partial<InstallFacts>) => planInstall({ ...FACTS, ...change });

it('writes the folder of each client once', () => {
  expect(plan({ clients: ['cursor', 'agent-b', 'agent-a'] })).toEqual({
    write: ['/agents', '/cursor'],
    conflicts: [],
    clients: ['agent-a', 'agent-b', 'cursor'],
  });
});

it('reports folders that vmcp does not manage, unless it is forced', () => {
  const existing = new Set(['/cursor', '/other']);
  expect(plan({ existing }).conflicts).toEqual(['/cursor']);
  expect(plan({ existing, force: true })).toMatchObject({ conflicts: [], write: ['/cursor'] });
});

it('writes nothing for the same digest and no new client', () => {
  const existing = new Set(['/cursor', '/kiro']);
  expect(plan({ ...recorded('1', 'cursor', 'kiro'), existing })).toEqual({
    write: [],
    conflicts: [],
    clients: ['cursor', 'kiro'],
  });
});

it('writes a folder again that it manages and that is missing', () => {
  const existing = new Set(['/kiro']);
  expect(plan({ ...recorded('1', 'cursor', 'kiro'), existing })).toMatchObject({ write: ['/cursor'], conflicts: [] });
});

it('writes only the folders of new clients for the same digest', () => {
  const existing = new Set(['/cursor', '/agents', '/kiro']);
  const clients = ['kiro', 'agent-b'];
  expect(plan({ ...recorded('1', 'cursor', 'agent-a'), clients, existing })).toEqual({
    write: ['/kiro'],
    conflicts: ['/kiro'],
    clients: ['agent-a', 'agent-b', 'cursor', 'kiro'],
  });
});

it('row 105: writes all folders again when the rules for files have changed the content', () => {
  const existing = new Set(['/cursor', '/kiro']);
  const before = { recorded: { digest: '1', content_digest: 'with a hidden file', clients: ['cursor', 'kiro'] } };
  expect(plan({ ...before, existing })).toMatchObject({ write: ['/cursor', '/kiro'], conflicts: [] });
});

it('overwrites the folders that it manages with another digest', () => {
  const existing = new Set(['/cursor', '/kiro']);
  expect(plan({ ...recorded('0', 'cursor'), existing })).toMatchObject({ write: ['/cursor'], conflicts: [] });
  expect(plan({ ...recorded('0', 'cursor'), clients: ['kiro'], existing }).conflicts).toEqual(['/kiro']);
});
