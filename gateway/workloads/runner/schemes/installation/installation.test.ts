import { expect, it } from 'vitest';
import { installationOf } from './installation.ts';

it.each([
  [{ UV_INDEX_URL: 'https://a/simple' }, { PIP_INDEX_URL: 'https://a/simple' }],
  [
    { UV_DEFAULT_INDEX: 'own=https://a/simple', UV_INDEX_URL: 'https://b/simple' },
    { PIP_INDEX_URL: 'https://a/simple' },
  ],
  [{ UV_INDEX: 'x=https://a/?b=c https://d' }, { PIP_EXTRA_INDEX_URL: 'https://a/?b=c https://d' }],
  [
    { UV_EXTRA_INDEX_URL: 'https://a', UV_FIND_LINKS: '/w' },
    { PIP_EXTRA_INDEX_URL: 'https://a', PIP_FIND_LINKS: '/w' },
  ],
  [{ UV_INDEX_URL: 'https://a', PIP_INDEX_URL: 'https://b' }, { PIP_INDEX_URL: 'https://b' }],
  [{ UV_INDEX_URL: '' }, {}],
])('pip reads packages from where uv does: %j is %j', (env, ofPip) => {
  const process = { image: 'uvx://a', package: { install_env: env } };
  expect(installationOf(process, {}).env).toEqual({ ...env, ...ofPip });
  expect(installationOf({ image: 'uvx://a' }, env).env).toEqual({ ...env, ...ofPip });
});

it('a place that a server names precedes one of this machine', () => {
  const process = { image: 'uvx://a', package: { install_env: { UV_INDEX_URL: 'https://a' } } };
  expect(installationOf(process, { PIP_INDEX_URL: 'https://b' }).env).toMatchObject({ PIP_INDEX_URL: 'https://a' });
});
