import { describe, expect, it } from 'vitest';
import { isEngineOutage, outageOf } from './engine-outage.ts';
import { pullError } from './schemes/container.ts';

const DOCKER =
  'docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?';

describe('an outage of a container engine', () => {
  it.each([
    DOCKER,
    'error during connect: Get "http://%2Fvar%2Frun%2Fdocker.sock/_ping": EOF',
    'Cannot connect to Podman. Please verify your connection to the Linux system using `podman system connection list`',
    'time="2026-11-25T10:00:00Z" level=error msg="error waiting for container: unexpected EOF"',
  ])('is told by the line %s', (line) => {
    expect(isEngineOutage(line)).toBe(true);
  });

  it.each(['Error response from daemon: No such container: a', 'connect ECONNREFUSED 127.0.0.1:5432', '', undefined])(
    'is not told by the line %s',
    (line) => {
      expect(isEngineOutage(line)).toBe(false);
    },
  );

  it('ends the client with 125: a server that looks for docker itself exits with another code', () => {
    expect(outageOf({ code: 125, signal: null }, DOCKER)).toMatchObject({
      reason: 'NoContainerEngine',
      permanent: false,
    });
    expect(outageOf({ code: 1, signal: null }, DOCKER)).toBeUndefined();
  });

  it('in a pull is not a fault of the image', () => {
    expect(pullError('a/b:1', { code: 1, stderr: DOCKER })).toMatchObject({ reason: 'NoContainerEngine' });
  });
});
