import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BoundaryImpossible } from '../../gateway/incoming/boundary-of.ts';
import { ListenError } from '../../gateway/listener.ts';
import { UserFileError } from '../../gateway/management/state/write-files.ts';
import { ProxyUrlError } from '../../gateway/outbound/proxy/proxies.ts';
import { PortInUse } from '../local/ports.ts';
import { StateInUse, StateNotUsable } from '../local/state.ts';
import { endWith, EXIT, failureOf } from './exit.ts';
import { StatusError } from './status/gateway-status.ts';

const CAUSE = Object.assign(new Error('refused'), { code: 'EACCES' });

describe('the exit code of a failure', () => {
  it.each([
    [EXIT.invalid, new BoundaryImpossible(CAUSE)],
    [EXIT.invalid, new ListenError('127.0.0.1', 4483, CAUSE)],
    [EXIT.invalid, new PortInUse(4483, '--port')],
    [EXIT.invalid, new ProxyUrlError('no URL')],
    [EXIT.invalid, new StateInUse('/state', 7)],
    [EXIT.invalid, new StateNotUsable('/state', CAUSE)],
    [EXIT.failed, new StatusError('no gateway answers')],
    [EXIT.failed, new UserFileError('cannot be written')],
  ])('is %i after the sentence of %s', (code, error) => {
    let printed = '';
    expect(endWith(error, { write: (text) => (printed += text) })).toBe(code);
    expect(printed).toBe(`${error.message}\n`);
  });

  it('is that of an internal error for any other error', () => {
    const error = new TypeError('a bug');
    expect(() => failureOf(error)).toThrow(error);
    expect(() => failureOf('thrown')).toThrow('thrown');
  });
});

it('no other file of the command line has numbers of exit codes', () => {
  const files = globSync('**/*.ts', { cwd: import.meta.dirname }).filter(
    (file) => !/\.test\.ts$|testdata\//u.test(file) && file !== 'exit.ts',
  );
  const numbers = /return \d+;|exitCode = \d|process\.exit\(\d|\? [012] : [012]\b|EXIT_/u;
  expect(files.filter((file) => numbers.test(readFileSync(join(import.meta.dirname, file), 'utf8')))).toEqual([]);
});
