import { expect, it } from 'vitest';
import { parseChallenge, tokenUrl } from './challenge.ts';
import { authorizationIn } from './docker-credentials.ts';

const auth = 'YW5uOnMzY3JldA==';

it.each([
  ['ghcr.io', 'ghcr.io', `Basic ${auth}`],
  ['https://ghcr.io', 'ghcr.io', `Basic ${auth}`],
  ['https://index.docker.io/v1/', 'docker.io', `Basic ${auth}`],
  ['ghcr.io', 'example.com', undefined],
  ['ghcr.io', 'ghcr.io:443', undefined],
])('the entry of %s is for %s: %s', (key, host, expected) => {
  expect(authorizationIn({ auths: { [key]: { auth } } }, host)).toBe(expected);
});

it.each([{}, { auths: 1 }, { auths: { a: 1 } }, { auths: { a: { auth: 'x\r\ny' } } }])('ignores %j', (config) => {
  expect(authorizationIn(config, 'a')).toBeUndefined();
});

it('reads challenges', () => {
  const header = 'Bearer realm="https://auth.example/token",service="registry",scope="repository:a/b:pull"';
  const challenge = parseChallenge(header);
  expect(challenge).toEqual({
    realm: 'https://auth.example/token',
    service: 'registry',
    scope: 'repository:a/b:pull',
  });
  expect(typeof challenge === 'object' && tokenUrl(challenge)?.href).toBe(
    'https://auth.example/token?service=registry&scope=repository%3Aa%2Fb%3Apull',
  );
  expect(parseChallenge('Basic realm="x"')).toBe('basic');
  expect([parseChallenge(''), parseChallenge('Digest x'), parseChallenge('Bearer x')]).toEqual(
    Array(3).fill(undefined),
  );
});
