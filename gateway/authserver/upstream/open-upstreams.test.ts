import { expect, it } from 'vitest';
import { openidProvider, raw, SECRETS } from './testdata/scripted-provider.ts';
import { oidcEntry, upstreamError, upstreamFor } from './testdata/upstream-under-test.ts';
import { timed, type UpstreamUse } from './open-upstreams.ts';

it('reports each operation once, with outcome and duration', async () => {
  const provider = await openidProvider({ revocation_endpoint: 'http://127.0.0.1:9/revoke' });
  const { upstream, now, advance } = upstreamFor(oidcEntry(provider));
  const uses: UpstreamUse[] = [];
  const measured = timed(upstream, (use) => void uses.push(use), now);
  const takeSeconds = (endpoint: string, seconds: number): void => {
    const { [endpoint]: answer } = provider.answers;
    provider.answers[endpoint] = (res, request) => {
      advance(seconds * 1_000);
      return answer?.(res, request);
    };
  };
  takeSeconds('token', 3);

  const { grant, identity } = await measured.login({ code: 'c' }, SECRETS);
  expect(identity.subject).toBe('ann');
  await measured.refresh({ grant, subject: 'ann' });
  expect(await measured.revoke(grant)).toBe(false);
  await upstreamError(() => measured.login({ error: 'access_denied' }, SECRETS));
  provider.answers['token'] = raw(503, {});
  await upstreamError(() => measured.login({ code: 'c' }, SECRETS));

  const told = uses.map(({ provider: name, operation, outcome }) => `${name} ${operation} ${outcome}`);
  expect(told).toEqual([
    'corp login ok',
    'corp refresh refreshed',
    'corp revoke not_revoked',
    'corp login denied',
    'corp login unavailable',
  ]);
  expect(uses.map(({ seconds }) => seconds)).toEqual([3, 3, 0, 0, 0]);
});

it('keeps all other members of the provider', async () => {
  const { upstream, now } = upstreamFor(oidcEntry(await openidProvider()));
  const measured = timed(upstream, () => undefined, now);
  expect([measured.name, measured.clientId, measured.host]).toEqual([upstream.name, upstream.clientId, upstream.host]);
  const url = new URL(await measured.authorizationUrl(SECRETS));
  expect(url.searchParams.get('state')).toBe(SECRETS.state);
  expect(measured.status()).toEqual({ ready: true });
});
