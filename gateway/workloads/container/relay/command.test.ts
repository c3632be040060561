import { expect, it } from 'vitest';
import { relayArguments, RELAY_ENVIRONMENT } from './command.ts';

const files = { node: process.execPath, loader: '/proc/self/exe', libraries: [] };
const argumentsOf = (socketDir: string): string[] =>
  relayArguments({
    image: 'image',
    files,
    socketDir,
    mode: 0,
    labels: [],
  });

it('replaces the files of an image that the loader and OpenSSL obey, and configures OpenSSL itself (row 111)', () => {
  const args = argumentsOf('/state/networks/1_a');
  for (const path of ['/etc/ld.so.preload', '/etc/ssl/openssl.cnf'])
    expect(args[args.indexOf(`/state/networks/1_a/empty:${path}:ro`) - 1]).toBe('-v');
  expect(args.slice(args.indexOf('image'))).toContain('--openssl-config=/dev/null');
});

it('mounts its program in another folder for each network (row 111)', () => {
  const [one, other] = ['1_a', '1_b'].map((name) => argumentsOf(`/state/networks/${name}`));
  expect(one).toContain('/vmcp/program/1_a');
  expect(other).toContain('/vmcp/program/1_b');
  expect(other?.join(' ')).not.toContain('1_a');
});

it('replaces the variables by which an image could add code to it (row 111)', () => {
  expect(RELAY_ENVIRONMENT).toMatchObject({
    GLIBC_TUNABLES: '',
    LD_AUDIT: '',
    LD_LIBRARY_PATH: '',
    LD_PRELOAD: '',
    NODE_COMPILE_CACHE: '',
    NODE_EXTRA_CA_CERTS: '',
    NODE_OPTIONS: '',
    OPENSSL_CONF: '/dev/null',
  });
});
