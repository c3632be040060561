import type { ServedState } from '../host.ts';
import { restartSentence } from '../runner/restarts.ts';
import type { WorkloadStatus } from '../workloads.ts';
import { isIPv6 } from 'node:net';
import type { RunConfig } from '../../contract/run-config/run-config.ts';

/** Returns the URL at which clients reach a workload; empty without a port. Path and query of a remote URL are kept. */
export function clientUrlOf(config: RunConfig, port: number): string {
  if (port === 0) return '';
  const { host = '127.0.0.1', proxy_mode: mode, transport, remote_url: remote, name = '' } = config;
  const isSse = (transport === 'stdio' ? mode : transport) === 'sse';
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  const origin = `http://${isIPv6(reachable) ? `[${reachable}]` : reachable}:${String(port)}`;
  if (isSse) return `${origin}/sse#${encodeURIComponent(name)}`;
  const query = remote === undefined ? '' : (URL.parse(remote)?.search ?? '');
  return `${origin}/mcp${query}`;
}

/** Status of a workload by the state of its login; undefined: that of its server. */
const LOGIN_STATUS = {
  authenticated: undefined,
  not_required: undefined,
  login_required: 'unauthenticated',
  unauthenticated: 'unauthenticated',
  auth_retrying: 'auth_retrying',
  /** The server or its issuer does not answer, so that it is unknown whether a login is required. */
  unreachable: 'unhealthy',
} as const;

/** State of the login at a remote server, as far as it decides on the status. */
export interface LoginState {
  readonly kind: keyof typeof LOGIN_STATUS;
  readonly reason?: string;
  readonly loginUrl?: string;
}

/** Facts about a workload of this machine. */
export interface Observed {
  readonly desired: 'running' | 'stopped' | 'removed';
  /** State of its listener and server; absent while there is none. */
  readonly served?: ServedState;
  /** True while its server is being stopped, or its container removed. */
  readonly isEnding?: boolean;
  readonly login?: LoginState;
  /** Reason why it could not be started at all. */
  readonly fault?: string;
  /** Reason why the last edit was undone. */
  readonly undone?: string;
}

/** Returns the status that users see. Pure. */
export function statusOf({ desired, served, login, fault, undone, isEnding = false }: Observed): WorkloadStatus {
  if (desired === 'removed') return { status: 'removing', ...context(fault) };
  if (desired === 'stopped') {
    if (served || isEnding) return { status: 'stopping', ...context(fault) };
    return { status: 'stopped', ...context(fault) };
  }
  if (fault !== undefined) return { status: 'error', status_context: fault };
  if (!served) return { status: 'starting', ...context(undone) };
  return loginStatus(login) ?? servedStatus(served, undone);
}

function loginStatus(login: LoginState | undefined): WorkloadStatus | undefined {
  const status = login && LOGIN_STATUS[login.kind];
  if (!status) return undefined;
  const { reason, loginUrl } = login;
  const advice = loginUrl === undefined ? reason : `${reason ?? 'a login is required'}: open ${loginUrl}`;
  return { status, ...context(advice) };
}

function servedStatus(served: ServedState, undone: string | undefined): WorkloadStatus {
  const { status, reason, isPermanent, restart } = served;
  if (isPermanent) return { status: 'error', ...context(reason) };
  if (restart && !hasRestarted(served)) return { status: 'starting', status_context: restartSentence(restart) };
  const isGood = status === 'healthy' || status === 'degraded';
  if (isGood && !served.isListed) return { status: 'starting', status_context: 'its tools are being listed' };
  switch (status) {
    case 'healthy':
      return { status: 'running', ...context(undone) };
    case 'degraded':
      return { status: 'running', ...context(undone ?? reason) };
    case 'unauthenticated':
      return { status: 'unauthenticated', ...context(reason) };
    case 'unhealthy':
      return { status: 'unhealthy', ...context(reason) };
    case 'installing':
    case 'starting':
    case 'unknown':
      return { status: 'starting', ...context(reason) };
  }
}

/** Returns true when a process that ended accepts requests again, and has answered one. */
const hasRestarted = ({ status, failedProbes, restart }: ServedState): boolean =>
  restart?.isOpen === true && failedProbes === 0 && status !== 'unhealthy';

const context = (text: string | undefined): { readonly status_context?: string } =>
  text === undefined ? {} : { status_context: text };
