import { LaunchError, type Exit, type LaunchProblem } from './runner.ts';

/** Lines of the clients of docker and podman about an engine that does not respond, or that stopped. */
const OUTAGES = [
  /cannot connect to (?:the docker daemon|podman)/iu,
  /is the docker daemon running/iu,
  /error during connect/iu,
  /error waiting for container: unexpected EOF/u,
];

/** Exit code of a client of an engine whose own request failed. Other codes are those of the server in the container. */
const CLIENT_FAILED = 125;

/** Returns true when a client's output says that the engine does not respond. */
export const isEngineOutage = (output = ''): boolean => OUTAGES.some((pattern) => pattern.test(output));

export const engineStopped = (): LaunchError =>
  new LaunchError('NoContainerEngine', 'the container engine has stopped: start it, and the workload continues');

/** Returns the problem of a container that ended because its engine stopped. */
export const outageOf = ({ code }: Exit, lastLine: string | undefined): LaunchProblem | undefined =>
  code === CLIENT_FAILED && isEngineOutage(lastLine) ? engineStopped().problem : undefined;

/** Returns true for a failure that ends with the outage of the engine: it is no fault of the workload. */
export const isOutage = (problem: LaunchProblem | undefined): boolean => problem?.reason === 'NoContainerEngine';
