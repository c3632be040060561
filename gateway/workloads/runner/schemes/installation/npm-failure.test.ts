import { describe, expect, it } from 'vitest';
import { npmCause } from './package-errors.ts';

/** Adds npm's prefix to each line. */
const output = (...lines: string[]): string => lines.map((line) => `npm error ${line}`).join('\n');

const LOG = 'A complete log of this run can be found in: /root/.npm/_logs/debug-0.log';

describe('npmCause', () => {
  it.each([
    [
      'a closed port',
      output(
        ...['code ECONNREFUSED', 'syscall connect', 'errno ECONNREFUSED'],
        'FetchError: request to http://127.0.0.1:9/foo failed, reason: connect ECONNREFUSED 127.0.0.1:9',
        '    at ClientRequest.<anonymous> (/usr/lib/index.js:130:14)',
        "  code: 'ECONNREFUSED',",
        '}',
        '',
        "If you are behind a proxy, please make sure that the 'proxy' config is set properly.  See: 'npm help config'",
        LOG,
      ),
      'request to http://127.0.0.1:9/foo failed, reason: connect ECONNREFUSED 127.0.0.1:9',
    ],
    [
      'an unknown host',
      output(
        ...['code ENOTFOUND', 'syscall getaddrinfo', 'errno ENOTFOUND'],
        'network request to http://nowhere.invalid/foo failed, reason: getaddrinfo ENOTFOUND nowhere.invalid',
        'network This is a problem related to network connectivity.',
        'network In most cases you are behind a proxy or have bad network settings.',
        LOG,
      ),
      'request to http://nowhere.invalid/foo failed, reason: getaddrinfo ENOTFOUND nowhere.invalid',
    ],
    [
      'a failed install script',
      output(
        ...['code 1', 'path /state/node_modules/puppeteer', 'command failed', 'command sh -c node install.mjs'],
        'Chrome is downloaded',
        'ERROR: Failed to set up chrome v131! Set "PUPPETEER_SKIP_DOWNLOAD" env variable to skip download.',
        '    at x (y.js:1)',
        LOG,
      ),
      'its install script failed: ERROR: Failed to set up chrome v131! Set "PUPPETEER_SKIP_DOWNLOAD" env variable to skip download.',
    ],
    [
      'a failed build',
      output(
        ...['code 1', 'path /state/node_modules/x', 'command failed', 'command sh -c node-gyp rebuild'],
        'gyp info it worked if it ends with ok',
        'gyp ERR! find Python',
        'gyp ERR! stack Error: Could not find any Python installation to use',
        LOG,
      ),
      'Could not find any Python',
    ],
    [
      'another version of Node.js',
      output(
        ...['code EBADENGINE', 'engine Unsupported engine', 'engine Not compatible with your version of node/npm: s@1'],
        'notsup Not compatible with your version of node/npm: s@1.0.0',
        'notsup Required: {"node":">=99"}',
        'notsup Actual:   {"node":"v20.20.2"}',
        LOG,
      ),
      'it needs {"node":">=99"}',
    ],
    [
      'missing rights',
      output(
        ...['code EACCES', 'syscall mkdir', 'path /root/x', 'errno -13'],
        "Error: EACCES: permission denied, mkdir '/root/x'",
        LOG,
      ),
      "EACCES: permission denied, mkdir '/root/x'",
    ],
    [
      'a refused login',
      output('code E401', '401 Unauthorized - GET http://r.example/foo - no', LOG),
      '401 Unauthorized - GET http://r.example/foo',
    ],
    [
      'a refused package',
      output('code E403', '403 403 Forbidden - GET http://r.example/foo', LOG),
      '403 Forbidden - GET',
    ],
    ['a code alone', output('code EUNKNOWN', 'syscall open', LOG), 'EUNKNOWN'],
    ['npm 9', 'npm ERR! code ENOSPC\nnpm ERR! nospc ENOSPC: no space left on device, write', 'ENOSPC: no space left'],
    ['nothing', '', 'no message'],
  ])('of %s', (_case, stderr, cause) => {
    expect(npmCause(stderr)).toContain(cause);
  });
});
