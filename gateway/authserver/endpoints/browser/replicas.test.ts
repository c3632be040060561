import { randomBytes } from 'node:crypto';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { startRedis, type RedisServer } from '../../../../e2e/harness/redis.ts';
import { blockScope } from '../../../../e2e/harness/scope.ts';
import { redisStore, settingsOf, single } from '../../storage/testdata/redis-store.ts';
import { handleOf, browserServer } from '../testdata/browser-server.ts';
import { scriptedOauth2, scriptedOidc } from '../testdata/scripted-login.ts';

const scope = blockScope();
let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis(scope);
});

/** Two replicas of one deployment: one issuer, one Redis, the same secrets. */
async function replicas() {
  const [corp, git] = [await scriptedOidc('corp'), await scriptedOauth2('git')];
  const entries = () => ({ corp: corp.entry, git: git.entry });
  const settings = settingsOf(single(redis.port));
  const stores = [await redisStore(settings), await redisStore(settings)] as const;
  for (const store of stores) onTestFinished(() => store.close());
  const secrets = [new Uint8Array(randomBytes(32))] as const;
  const one = await browserServer(entries, { store: stores[0], secrets });
  const { urls, consentUrl, callbackUrl, callbackPaths } = one.context.settings;
  const same = { urls, consentUrl, callbackUrl, callbackPaths };
  const two = await browserServer(entries, { store: stores[1], secrets, clients: [], settings: same });
  return { corp, git, one, two };
}

it('continues a login attempt at any replica, and accepts one of many callbacks at both', async () => {
  const { corp, git, one, two } = await replicas();
  const browser = one.browser();
  const at = (url: string, base: string) => url.replace(new URL(url).origin, base);
  const page = await browser.visit(one.authorizeUrl());
  const form = browser.fill(page.page, page.url, '');
  const leg = await browser.visit(at(form.url, two.listening), form.body);
  const callback = corp.callbackFor(leg.location ?? '');
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      browser.visit(at(callback, index % 2 === 0 ? one.listening : two.listening)),
    ),
  );
  const [next, ...more] = answers.filter(({ status }) => status === 303);
  expect([more.length, corp.exchanged.length]).toEqual([0, 1]);
  const end = await browser.visit(at(git.callbackFor(next?.location ?? ''), two.listening));
  const code = new URL(end.location ?? '').searchParams.get('code') ?? '';
  const taken = await one.store.codes.take(code, 60_000);
  if (taken.kind !== 'taken') throw new Error('there is no code');
  expect((await one.store.upstreamTokens.all(taken.grant.tsid)).map(({ provider }) => provider)).toEqual([
    'corp',
    'git',
  ]);
});

it('row 66: stores nothing in Redis that a reader could use during a login attempt', async () => {
  const { corp, one } = await replicas();
  const browser = one.browser();
  const page = await browser.visit(one.authorizeUrl());
  const form = browser.fill(page.page, page.url, '');
  const first = await browser.visit(form.url, form.body);
  const second = await browser.visit(corp.callbackFor(first.location ?? ''));
  const state = new URL(second.location ?? '').searchParams.get('state') ?? '';
  const attempt = await one.store.loginAttempts.get(handleOf(second.location ?? '', one));
  const keys = (await redis.cli('--raw', 'KEYS', '*')).split('\n').filter((key) => key !== '');
  const types = await Promise.all(keys.map((key) => redis.cli('TYPE', key)));
  const texts = keys.filter((_, index) => types[index]?.trim() === 'string');
  const values = await Promise.all(texts.map((key) => redis.cli('--raw', 'GET', key)));
  const dump = [...keys, ...values].join('\n');
  expect(texts.length).toBeGreaterThan(2);
  const cookie = [...browser.cookies].find(([name]) => name.includes('flow'))?.[1] ?? '';
  const handle = new URLSearchParams(form.body).get('transaction') ?? '';
  const { leg } = attempt ?? {};
  for (const secret of [
    state,
    handle,
    cookie,
    leg?.codeVerifier ?? '',
    leg?.nonce ?? '',
    'corp-access',
    'corp-refresh',
  ]) {
    expect(secret.length).toBeGreaterThan(10);
    expect(dump).not.toContain(secret);
  }
});
