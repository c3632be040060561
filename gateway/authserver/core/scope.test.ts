import { describe, expect, it } from 'vitest';
import { formatScope, narrowedScopes, parseScope, requestedScopes } from './scope.ts';

describe('scope', () => {
  it.each([
    [undefined, []],
    ['', []],
    ['   ', []],
    ['openid', ['openid']],
    ['b a b', ['b', 'a']],
    ['  a   b ', ['a', 'b']],
    ['!#$%&()*+,-./:;<=>?@[]^_`{|}~', ['!#$%&()*+,-./:;<=>?@[]^_`{|}~']],
  ])('%j reads as %j', (text, scopes) => {
    expect(parseScope(text)).toEqual({ ok: true, value: scopes });
    expect(parseScope(formatScope(scopes))).toEqual({ ok: true, value: scopes });
  });

  it.each(['a"b', 'a\\b', 'a\tb', 'a\nb', 'é', 'a\u0000', 'a\u00a0b', '\u007f'])('%j is not a valid scope', (text) => {
    expect(parseScope(text)).toEqual({ ok: false, reason: 'scope_malformed' });
  });
});

describe('scopes of an authorization request', () => {
  const rules = { supported: ['openid', 'profile', 'mcp:tools'], registered: ['openid', 'mcp:tools', 'removed'] };

  it.each([
    [undefined, ['openid', 'mcp:tools']],
    ['', ['openid', 'mcp:tools']],
    ['mcp:tools', ['mcp:tools']],
    ['mcp:tools openid', ['mcp:tools', 'openid']],
  ])('%j results in %j', (text, scopes) => {
    expect(requestedScopes(text, rules)).toEqual({ ok: true, value: scopes });
  });

  it.each(['profile', 'removed', 'OPENID', 'openid mcp', 'mcp:tools:write', 'openid,profile'])(
    '%j is rejected',
    (text) => {
      expect(requestedScopes(text, rules)).toEqual({ ok: false, reason: 'scope_unknown' });
    },
  );
});

describe('scopes of a refresh', () => {
  it.each([
    [undefined, ['a', 'b']],
    ['b', ['b']],
    ['b a', ['b', 'a']],
  ])('%j results in %j', (text, scopes) => {
    expect(narrowedScopes(text, ['a', 'b'])).toEqual({ ok: true, value: scopes });
  });

  it.each(['a b c', 'c', 'A'])('%j exceeds the grant', (text) => {
    expect(narrowedScopes(text, ['a', 'b'])).toEqual({ ok: false, reason: 'scope_widened' });
  });
});
