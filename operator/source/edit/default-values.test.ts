import { expect, it } from 'vitest';
import { importedServers } from '../clients/imported-servers.ts';
import { parseEnvText } from '../files/env-text.ts';
import { importFiles } from './import-files.ts';

const filesOf = (...envs: readonly Readonly<Record<string, string>>[]) =>
  importFiles(
    importedServers(
      envs.map((env, index) => ({ name: `s${String(index)}`, value: { command: 'npx', args: ['x'], env } })),
    ),
    'desk',
  );

it('a default of a variable goes to a .env that only its owner reads', () => {
  const { files, servers } = filesOf(
    { A: '${HOST:-db}', B: '${QUOTED:-it\'s "x" # y}', C: '${EMPTY:-}' },
    { A: '${HOST:-db}' },
  );
  const file = files.find(({ name }) => name === '.env');
  expect(file).toMatchObject({ mode: 0o600, objects: [] });
  expect(Object.fromEntries(parseEnvText(file?.text ?? '').values)).toEqual({
    HOST: 'db',
    QUOTED: 'it\'s "x" # y',
    EMPTY: '',
  });
  expect(servers[0]?.spec).toMatchObject({
    env: [
      { name: 'A', fromEnv: 'HOST' },
      { name: 'B', fromEnv: 'QUOTED' },
      { name: 'C', fromEnv: 'EMPTY' },
    ],
    secrets: [],
  });
  expect(servers.flatMap(({ warnings }) => warnings)).toEqual([]);
});

it.each(['other', '\'`"'])('a second or unquotable default %s becomes a value, with a warning', (fallback) => {
  const { servers } = filesOf({ A: '${HOST:-db}' }, { A: `\${HOST:-${fallback}}` });
  expect(servers[1]).toMatchObject({
    spec: { env: [], secrets: [{ name: 'A', value: fallback }] },
    warnings: ['A has the default of HOST: write another value into its Secret where your client has one'],
  });
});

it('there is no .env without a default', () => {
  expect(filesOf({ A: '${HOST}' }).files.map(({ name }) => name)).not.toContain('.env');
});
