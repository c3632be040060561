import { describe, expect, it } from 'vitest';
import { missingTools } from './backends.ts';
import { nearTools, resultText } from './call.ts';
import { ownedTools, toolTable } from './tools.ts';

describe('the result of a call', () => {
  it('shows texts as they are and other kinds as one line each', () => {
    const content = [
      { type: 'text', text: 'two\nlines' },
      { type: 'text', text: 'ends\n' },
      { type: 'image', mimeType: 'image/png', data: Buffer.alloc(12 * 1024).toString('base64') },
      { type: 'audio', mimeType: 'audio/wav', data: Buffer.alloc(3 * 1024 * 1024).toString('base64') },
      { type: 'resource', resource: { uri: 'file:///a', mimeType: 'text/plain', text: 'abc' } },
      { type: 'resource_link', uri: 'file:///b', name: 'b' },
      { type: 'later', other: 1 },
      'not a block',
    ];
    expect(resultText({ content })).toBe(
      [
        'two\nlines\nends\n[image image/png 12 KiB]\n[audio audio/wav 3 MiB]',
        '[resource file:///a text/plain 3 bytes]\n[resource_link file:///b]\n[later]\n[unknown]\n',
      ].join('\n'),
    );
  });

  it('shows structured content when there is nothing else', () => {
    expect(resultText({ content: [], structuredContent: { a: 1 } })).toBe('{\n  "a": 1\n}\n');
    expect(resultText({ content: [{ type: 'text', text: 'a is 1' }], structuredContent: { a: 1 } })).toBe('a is 1\n');
  });
});

describe('the table of tools', () => {
  const tools = [
    { name: 'web_fetch', description: 'Fetches\n  a page. \u001b[31mRed.' },
    { name: 'files_read', description: 'Reads a file and returns its text in one piece.' },
    { name: 'files-extra_read' },
    { name: 'filesystem' },
  ];
  const owned = ownedTools(tools, ['files', 'files-extra', 'web']);

  it('is sorted and names the backends by the longest prefix', () => {
    expect(owned.map(({ tool, backend }) => [tool.name, backend])).toEqual([
      ['files-extra_read', 'files-extra'],
      ['files_read', 'files'],
      ['filesystem', undefined],
      ['web_fetch', 'web'],
    ]);
  });

  it('ends where the terminal does, and has no control characters', () => {
    expect(toolTable(owned, 60)).toBe(`NAME              BACKEND      DESCRIPTION
files-extra_read  files-extra
files_read        files        Reads a file and returns i...
filesystem        -
web_fetch         web          Fetches a page. \uFFFD[31mRed.
`);
  });

  it('has complete descriptions without a terminal', () => {
    const [, , line = ''] = toolTable(owned, undefined).split('\n');
    expect(line).toBe('files_read        files        Reads a file and returns its text in one piece.');
  });

  it('has readable descriptions on a narrow terminal', () => {
    const [, , line = ''] = toolTable(owned, 10).split('\n');
    expect(line).toBe('files_read        files        Reads a file and...');
  });
});

it('says why the tools of some servers are missing, once for each server', () => {
  const backend = (name: string, state: string) => ({ name, state, calls: 0 });
  const backends = [backend('web', 'starting'), backend('files', 'healthy'), backend('b', 'degraded')];
  expect(missingTools(backends)).toBe('web is starting: try again soon\n');
  expect(missingTools([...backends, backend('time', 'installing'), backend('web', 'starting')])).toBe(
    'time is being installed: try again soon\nweb is starting: try again soon\n',
  );
});

it.each([
  ['echo', ['everything_echo', 'everything_echo_all']],
  ['ECHO', ['everything_echo', 'everything_echo_all']],
  ['everything_ehco', ['everything_echo']],
  ['serch', ['web_search']],
  ['nothing-like-it', []],
])('suggests for %s', (word, expected) => {
  expect(nearTools(word, ['everything_echo_all', 'web_search', 'everything_echo'])).toEqual(expected);
});
