import { expect, it } from 'vitest';
import { canBecome, openValues, valueFault, withValues } from './entry-variables.ts';
import type { RegistryEntry } from './registry-entry.ts';

const REMOTE: RegistryEntry = {
  name: 'com.example/notes',
  url: 'https://{tenant}.eu.example.com/{key}/mcp',
  url_template: 'https://{tenant}.{region}.example.com/{key}/mcp',
  variables: [
    { name: 'tenant', description: 'Your tenant.', required: true },
    { name: 'region', default: 'eu', choices: ['eu', 'us'] },
    { name: 'key', secret: true },
  ],
};
const FOLDER: RegistryEntry = {
  ...{ name: 'com.example/files', image: 'files:1', args: ['--root', '{dir}'] },
  ...{ permissions: { write: ['{dir}:/data'] }, variables: [{ name: 'dir', required: true }] },
};

it('names the variables of an entry that have no value', () => {
  expect(valueFault(REMOTE, {}, {})).toBe('needs values for tenant (Your tenant.), key: set them in "variables"');
  expect(valueFault(FOLDER, {}, { dir: '' })).toContain('dir');
});

it('asks for no value where the request has settings of its own', () => {
  expect(valueFault(FOLDER, { cmd_arguments: ['.'], permission_profile: {} }, {})).toBeUndefined();
  expect(valueFault(FOLDER, { cmd_arguments: ['.'] }, {})).toContain('dir');
});

it('rejects variables that the entry does not have, and values that it does not allow', () => {
  expect(valueFault(REMOTE, {}, { tenant: 'a', key: 'b', other: 'c' })).toContain('no variable other');
  expect(valueFault(REMOTE, {}, { tenant: 'a', key: 'b', region: 'cn' })).toContain('eu, us as region');
});

it('fills in values, else the defaults', () => {
  expect(withValues(REMOTE, { tenant: 'acme', key: '{tenant}' }).url).toBe('https://acme.eu.example.com/{tenant}/mcp');
  expect(withValues(REMOTE, { tenant: 'acme', key: 'k', region: 'us' }).url).toBe('https://acme.us.example.com/k/mcp');
  const { args, permissions } = withValues(FOLDER, { dir: '/srv' });
  expect({ args, permissions }).toEqual({ args: ['--root', '/srv'], permissions: { write: ['/srv:/data'] } });
});

it.each([
  ['https://{a}.example.com/{b}', 'https://x.example.com/y/z', true],
  ['https://{a}.example.com/{b}', 'https://x.example.com/', false],
  ['https://{a}.example.com/{b}', 'https://.example.com/y', false],
  ['https://{a}{b}.example.com', 'https://xy.example.com', true],
  ['https://{a}{b}.example.com', 'https://x.example.com', false],
  ['{a}.com/{b}.com', 'x.com/y.com.com', true],
  ['{a}.com/x', 'y.com/x/x', false],
  ['{a}-{b}', 'x-y', true],
  ['https://example.com/{"b"}', 'https://example.com/{"b"}', true],
  ['https://example.com/mcp', 'https://example-com/mcp', false],
])('recognizes what can become of a template: %s, %s', (template, text, expected) => {
  expect(canBecome(template, text)).toBe(expected);
});

it('compares a long text with a template of many names without delay', () => {
  const template = `https://${'{a}'.repeat(50)}/mcp`;
  expect(canBecome(template, `https://${'x'.repeat(2_000)}`)).toBe(false);
});

it('keeps the values of secret variables out of the log', () => {
  expect(openValues(REMOTE, { tenant: 'acme', key: 'k' })).toEqual({ tenant: 'acme' });
});
