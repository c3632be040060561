import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { CLIENTS } from '../clients/registry.ts';
import { namedBy } from '../servers/published.ts';
import { SERVERS } from '../servers/registry.ts';
import { documentOf } from '../table.ts';
import type { Result } from '../result.ts';
import { PROVIDERS } from './index.ts';
import { replacing, USES } from './provider.ts';

const DOCS = join(import.meta.dirname, '..', '..', '..', 'docs');
const RESULTS = join(import.meta.dirname, '..', 'results.json');
/** A block of code that begins with the name of its file: `# incoming.yaml`. */
const BLOCK = /^```\w+\n((?:#|\/\/) (\S+\.\w+)\n.*?)^```$/gmsu;

describe.each(PROVIDERS)('docs/providers: $title', ({ name, lacks, issuer }) => {
  const page = readFileSync(join(DOCS, 'providers', `${name}.md`), 'utf8');
  const quoted = new Map([...page.matchAll(BLOCK)].map(([, text = '', file = '']) => [file, text]));

  it('quotes each file as it is run', () => {
    const files = globSync('*.*', { cwd: join(import.meta.dirname, name) }).toSorted();
    expect([...quoted.keys()].toSorted()).toEqual(files);
    for (const file of files)
      expect(quoted.get(file)).toBe(readFileSync(join(import.meta.dirname, name, file), 'utf8'));
  });

  it('has a file for each use that the provider does not lack', () => {
    const used = USES.filter((use) => quoted.has(`${use}.yaml`));
    expect(used).toEqual(USES.filter((use) => lacks[use] === undefined));
  });

  it('names the issuer of the docs', () => {
    expect(page).toContain(issuer);
  });
});

describe('docs/interop.md', () => {
  const results = JSON.parse(readFileSync(RESULTS, 'utf8')) as Result[];

  it('is the table of the saved results', () => {
    expect(readFileSync(join(DOCS, 'interop.md'), 'utf8')).toBe(documentOf(results));
  });

  it('has a row for each entry of the registries', () => {
    const rows = new Set(results.map(({ kind, name }) => `${kind} ${name}`));
    const entries = [
      ...PROVIDERS.map(({ name }) => `provider ${name}`),
      ...CLIENTS.map(({ name }) => `client ${name}`),
      ...SERVERS.map(({ name }) => `server ${name}`),
    ];
    expect(entries.filter((entry) => !rows.has(entry))).toEqual([]);
    expect(results.filter(({ version }) => version === '')).toEqual([]);
  });

  it('links to pages that exist', () => {
    expect(PROVIDERS.filter(({ name }) => !existsSync(join(DOCS, 'providers', `${name}.md`)))).toEqual([]);
    expect(SERVERS.every((entry) => namedBy(entry).version !== '')).toBe(true);
  });
});

it('the ports of the docs are replaced on loopback only', () => {
  const at = replacing(new Map([[4483, 15_001]]));
  expect(at('http://127.0.0.1:4483/mcp http://localhost:4483 http://127.0.0.1:44830 http://example.com:4483')).toBe(
    'http://127.0.0.1:15001/mcp http://localhost:15001 http://127.0.0.1:44830 http://example.com:4483',
  );
});

/** Pages of providers that nobody can run here. */
const BY_DOCUMENTATION = ['auth0', 'entra', 'github', 'google', 'okta', 'slack'];
const EXAMPLE = join(DOCS, '..', 'examples', 'auth-server-production', 'auth-server-production.yaml');

describe('docs/providers: pages by documentation', () => {
  const documents = parseAllDocuments(readFileSync(EXAMPLE, 'utf8')).map((document) => document.toJS() as Example);
  const providers = documents.flatMap(({ spec }) => spec?.authServerConfig?.upstreamProviders ?? []);

  it.each(BY_DOCUMENTATION)('%s says that it was not run, and has the provider of the validated example', (name) => {
    const page = readFileSync(join(DOCS, 'providers', `${name}.md`), 'utf8');
    expect(page).toContain('**Not run.**');
    const [, block = ''] = /^```yaml\n(- name: .*?)^```$/msu.exec(page) ?? [];
    expect([parse(block)].flat()).toEqual([providers.find((provider) => provider.name === name)]);
  });

  it('are all pages, with those that are run', () => {
    const pages = globSync('*.md', { cwd: join(DOCS, 'providers') }).map((file) => file.replace('.md', ''));
    const known = ['README', 'private-key-jwt', ...BY_DOCUMENTATION, ...PROVIDERS.map(({ name }) => name)];
    expect(pages.toSorted()).toEqual(known.toSorted());
  });
});

interface Example {
  readonly spec?: { readonly authServerConfig?: { readonly upstreamProviders: readonly { readonly name: string }[] } };
}
