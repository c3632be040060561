import { describe, expect, it } from 'vitest';
import { checkSameResource, resolveResource } from './resource.ts';

const PATHED = 'https://gateway.example/team/mcp';
const ORIGIN = 'https://mcp.example:8443';
const LOCAL = 'http://127.0.0.1:4483/mcp';
const V6 = 'http://[::1]:4483/mcp';
const PLAIN = 'http://plain.example/mcp';
const AUDIENCES = [PATHED, ORIGIN, LOCAL, V6, PLAIN];

/** Spellings of the same resource. */
const SAME = [
  [PATHED, PATHED],
  ['HTTPS://Gateway.EXAMPLE/team/mcp', PATHED],
  ['https://gateway.example:443/team/mcp', PATHED],
  ['https://gateway.example:/team/mcp', PATHED],
  [ORIGIN, ORIGIN],
  [`${ORIGIN}/`, ORIGIN],
  ['https://gateway.example/team/mcp/', PATHED],
  [`${LOCAL}/`, LOCAL],
  [LOCAL, LOCAL],
  [V6, V6],
  ['http://plain.example:80/mcp', PLAIN],
] as const;

const UNKNOWN = [
  'http://plain.example:443/mcp',
  'https://gateway.example/team/mcp//',
  'https://gateway.example/team/mcp/?',
  'https://gateway.example/team/mcp?',
  'https://gateway.example/team/mcp?x=1',
  'https://gateway.example/team/MCP',
  'https://gateway.example/team/%6dcp',
  'https://gateway.example/team/./mcp',
  'https://gateway.example/x/../team/mcp',
  'https://gateway.example/team',
  'https://gateway.example.evil.example/team/mcp',
  'http://gateway.example/team/mcp',
  'https://gateway.example:80/team/mcp',
  'https://gateway.example./team/mcp',
  `${ORIGIN}//`,
  `${ORIGIN}/?`,
  'http://localhost:4483/mcp',
  'http://2130706433:4483/mcp',
  'https://other.example/mcp',
];

const MALFORMED = [
  `${PATHED}#`,
  `${PATHED}#part`,
  'https://user@gateway.example/team/mcp',
  'https://user:pass@gateway.example/team/mcp',
  '/team/mcp',
  '//gateway.example/team/mcp',
  'gateway.example/team/mcp',
  'ftp://gateway.example/team/mcp',
  'urn:example:server',
  'https://',
  'https:///team/mcp',
  'https:gateway.example/team/mcp',
  'https://gateway.example\\team\\mcp',
  'https://gateway.example/te am/mcp',
  'https://gateway.example/team\t/mcp',
  'https://gateway.example/team/mcp\n',
  'https://gateway.example/team/mcp\u0000',
  'https://gateway.example:99999/team/mcp',
  `https://gateway.example/${'a'.repeat(2048)}`,
];

describe('resource of an authorization request', () => {
  it.each(SAME)('%s resolves to the audience %s', (requested, audience) => {
    expect(resolveResource([requested], AUDIENCES)).toEqual({ ok: true, value: audience });
  });

  it('returns the configured spelling for all equivalent ones', () => {
    expect(resolveResource(['https://a.example'], ['HTTPS://A.example:443/'])).toEqual({
      ok: true,
      value: 'HTTPS://A.example:443/',
    });
  });

  it('prefers the audience that is spelled in the same way', () => {
    for (const audience of [PATHED, `${PATHED}/`])
      expect(resolveResource([audience], [PATHED, `${PATHED}/`])).toEqual({ ok: true, value: audience });
    expect(resolveResource([PATHED], [`${PATHED}/`])).toEqual({ ok: true, value: `${PATHED}/` });
  });

  it.each(UNKNOWN)('%j is not a resource of this server', (requested) => {
    expect(resolveResource([requested], AUDIENCES)).toEqual({ ok: false, reason: 'resource_unknown' });
  });

  it.each(MALFORMED)('%j is not a valid resource', (requested) => {
    expect(resolveResource([requested], AUDIENCES)).toEqual({ ok: false, reason: 'resource_malformed' });
  });

  it('may be absent when there is only one', () => {
    expect(resolveResource([], [PATHED])).toEqual({ ok: true, value: PATHED });
    expect(resolveResource([], AUDIENCES)).toEqual({ ok: false, reason: 'resource_missing' });
    expect(resolveResource([], [])).toEqual({ ok: false, reason: 'resource_missing' });
  });

  it('must occur only once', () => {
    expect(resolveResource([PATHED, PATHED], AUDIENCES)).toEqual({ ok: false, reason: 'resource_multiple' });
  });
});

describe('resource at the token endpoint', () => {
  it.each(SAME)('%s is equal to the granted %s', (requested, granted) => {
    expect(checkSameResource([requested], granted)).toEqual({ ok: true, value: granted });
  });

  it('may be absent', () => {
    expect(checkSameResource([], PATHED)).toEqual({ ok: true, value: PATHED });
  });

  it.each([...UNKNOWN, ORIGIN])('%j was not granted', (requested) => {
    expect(checkSameResource([requested], PATHED)).toEqual({ ok: false, reason: 'resource_changed' });
  });

  it.each(MALFORMED)('%j is not a valid resource', (requested) => {
    expect(checkSameResource([requested], PATHED)).toEqual({ ok: false, reason: 'resource_malformed' });
  });

  it('must occur only once', () => {
    expect(checkSameResource([PATHED, PATHED], PATHED)).toEqual({ ok: false, reason: 'resource_multiple' });
  });
});
