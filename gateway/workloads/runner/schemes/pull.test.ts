import { describe, expect, it } from 'vitest';
import { pullError } from './container.ts';

const IMAGE = 'example.com/mcp/server:1';

describe('a failed pull', () => {
  it.each([
    'Error response from daemon: manifest for alpine:none not found: manifest unknown: manifest unknown',
    "Error response from daemon: pull access denied for none, repository does not exist or may require 'docker login'",
    'Error response from daemon: failed to resolve reference "docker.io/library/a:b": docker.io/library/a:b: not found',
    'Error: initializing source docker://example.com/a:b: reading manifest b in example.com/a: manifest unknown',
    'Error: initializing source docker://example.com/a:b: reading manifest b in example.com/a: name unknown: repository name not known to registry',
    'Error: initializing source docker://a:b: reading manifest b in docker.io/library/a: requested access to the resource is denied',
    'Error: reading manifest b in 127.0.0.1:5000/a: StatusCode: 404, 404 page not found',
  ])('is permanent after: %s', (stderr) => {
    const { problem } = pullError(IMAGE, { code: 125, stderr });
    expect(problem).toEqual({
      reason: 'ImageNotFound',
      permanent: true,
      message: `${IMAGE} does not exist, or needs a login at its registry: check its name and tag`,
    });
  });

  it.each([
    'Error: pinging container registry example.com: dial tcp: lookup example.com: no such host',
    'Error: pinging container registry 127.0.0.1:9: dial tcp 127.0.0.1:9: connect: connection refused',
    'Error response from daemon: Get "https://example.com/v2/": net/http: TLS handshake timeout',
    'Error: reading manifest b in example.com/a: received unexpected HTTP status: 503 Service Unavailable',
    'toomanyrequests: You have reached your pull rate limit',
    '',
  ])('is retried after: %s', (stderr) => {
    expect(pullError(IMAGE, { code: 125, stderr }).problem).toMatchObject({
      reason: 'ImagePullFailed',
      permanent: false,
    });
  });

  it('that took too long is no missing image', () => {
    const error = pullError(IMAGE, { code: null, stderr: 'manifest unknown' });
    expect(error.message).toBe(`${IMAGE} was not pulled within 10 minutes: pull it by hand`);
    expect(error.problem.permanent).toBe(false);
  });
});
