import { describe, expect, it } from 'vitest';
import { tallyOf, withResult, type Result } from './result.ts';
import { documentOf } from './table.ts';

const keycloak: Result = {
  kind: 'provider',
  name: 'keycloak',
  title: 'Keycloak',
  version: '26.7.3',
  date: '2026-11-28',
  checks: [
    { name: 'incoming', outcome: 'passed', detail: '5 checks' },
    { name: 'exchange', outcome: 'absent', detail: 'none' },
  ],
};
const memory: Result = {
  ...{ kind: 'server', name: 'memory', title: 'memory', version: '1.0.0', date: '2026-11-27' },
  checks: [{ name: 'runs', outcome: 'failed', detail: 'unhealthy:\n a | b' }],
};

describe('results of interop', () => {
  it('have one result for each entry, providers first', () => {
    const again = { ...keycloak, version: '26.8.0' };
    expect(withResult(withResult(withResult([], memory), keycloak), again)).toEqual([again, memory]);
  });

  it('count the checks that passed and failed', () => {
    expect(tallyOf([keycloak, memory])).toEqual({ passed: 1, failed: 1 });
  });
});

describe('docs/interop.md', () => {
  const text = documentOf([keycloak, memory]);

  it('has a row for each check, with version and date', () => {
    const rows = text.split('\n').map((line) => line.replaceAll(/ +/gu, ' '));
    expect(rows).toContain('| [Keycloak](providers/keycloak.md) | 26.7.3 | incoming | yes | 5 checks | 2026-11-28 |');
    expect(rows).toContain('| [Keycloak](providers/keycloak.md) | 26.7.3 | exchange | - | none | 2026-11-28 |');
    expect(text).toContain('1 checks passed, 1 failed.');
  });

  it('counts the servers that run, and those that say why they do not', () => {
    const checks = ['runs', 'says why it cannot run', 'says why it cannot run', 'names its fault'].map((name) => ({
      ...{ name, outcome: 'passed' as const, detail: '' },
    }));
    const servers = checks.map((check) => ({ ...memory, checks: [check] }));
    expect(documentOf([...servers, memory])).toContain(
      'Of 5 servers 1 run, 2 give the reason of their README, and 1 name a fault.',
    );
  });

  it('keeps a detail with line breaks and bars in its cell', () => {
    expect(text).toContain(String.raw`| memory | 1.0.0   | runs  | **no** | unhealthy: a \| b | 2026-11-27 |`);
  });
});
