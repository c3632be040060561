import { Agent } from 'undici';
import type { Backend, Operational } from '../../contract/gateway-config.ts';
import type { Connection } from '../../kube/connection.ts';
import type { RestartPolicy } from '../../workloads/runner/restarts.ts';
import type { Launcher } from '../../workloads/runner/runner.ts';
import { guardedConnector } from '../../outbound/connector.ts';
import { policyFor } from '../../outbound/policy.ts';
import { inAbsoluteForm } from '../../outbound/proxy/absolute-form.ts';
import { CredentialError } from '../../outgoing/authenticator.ts';
import { initTimeoutMs } from '../timeouts.ts';
import { attachTransport } from './attach/attach-transport.ts';
import { BackendError, type Transport } from './channel.ts';
import { headerFromFile, headerPlaces, readText, withHeaderFiles, type HeaderFiles } from './header-files.ts';
import type { HttpTransportOptions } from './http/http-transport.ts';
import { anyEraTransport } from './modern/eras.ts';
import { sseTransport } from './sse/sse-transport.ts';
import { stdioTransport } from './stdio/stdio-transport.ts';
import { withFields, type Logger } from '../../contract/logger.ts';

export interface TransportsOptions {
  readonly log: Logger;
  readonly version: string;
  readonly launcher: Launcher | undefined;
  /** Returns the connection to the API server, for attaching to pods. Called on first use. */
  readonly connection?: (() => Connection) | undefined;
  readonly now: () => number;
  /** Rules for the restarts of stdio processes; those of `vmcp up` when absent. */
  readonly restarts?: RestartPolicy;
}

const MAX_REPLY_BYTES = 32 * 1024 * 1024;

const CHILD_IDLE_MS = 600_000;
const DEFAULT_PROCESSES = 16;

/** Creates the transport of each backend. A new transport is a file and a case below. */
export const createTransports =
  ({ log, version, launcher, connection, now, restarts }: TransportsOptions) =>
  (backend: Backend, operational: Operational, namespace?: string): Transport => {
    const shared = {
      name: backend.name,
      log: withFields(log, { backend: backend.name }),
      clientInfo: { name: 'vmcp', version },
      initTimeoutMs: initTimeoutMs(operational, backend.name),
    };
    switch (backend.transport) {
      case 'streamable-http':
        return onOpen(() =>
          anyEraTransport({ ...shared, ...httpOptions(backend), maxReplyBytes: MAX_REPLY_BYTES }, now),
        );
      case 'sse':
        return onOpen(() => {
          const { url, headers, headerFiles, policy, caFile } = httpOptions(backend);
          const { log, initTimeoutMs: timeoutMs } = shared;
          const connect = guardedConnector(policy, { caFile, configuredUrl: url, log, timeoutMs });
          const dispatcher = withHeaderFiles(inAbsoluteForm(new Agent({ allowH2: false, connect }), url), headerFiles);
          const transport = sseTransport({ ...shared, url, headers, dispatcher, maxMessageBytes: MAX_REPLY_BYTES });
          return { ...transport, close: () => transport.close().then(() => dispatcher.destroy()) };
        });
      case 'stdio': {
        const { process, attach } = backend;
        if (attach && connection && namespace !== undefined) {
          const place = { connection: connection(), namespace, ...attach };
          return attachTransport({ ...shared, now, place, maxMessageBytes: MAX_REPLY_BYTES });
        }
        if (!launcher || !process) return withoutLauncher(backend);
        return stdioTransport({
          ...shared,
          now,
          launcher,
          command: () => launcher.prepare(process, backend.name),
          isolation: backend.isolation ?? 'principal',
          maxProcesses: backend.max_processes ?? DEFAULT_PROCESSES,
          idleMs: CHILD_IDLE_MS,
          maxMessageBytes: MAX_REPLY_BYTES,
          restarts,
        });
      }
    }
  };

/**
 * Creates a transport on its first opening, and again at each opening until that succeeds. While a file cannot be read,
 * the backend is unavailable.
 */
function onOpen(create: () => Transport): Transport {
  let made: Transport | undefined;
  let closed = false;
  return {
    open: async (owner, signal) => {
      if (closed) throw unavailable('the backend is closed');
      made ??= create();
      return made.open(owner, signal);
    },
    close: async () => {
      closed = true;
      await made?.close();
    },
  };
}

/**
 * Returns the options of an HTTP backend. Reads its files once, so that opening reports their problems; they are read
 * again when they change. @throws BackendError
 */
function httpOptions(backend: Backend) {
  const { name, url, ca_bundle_file: caFile, header_forward: forward, host_header: host } = backend;
  if (url === undefined) throw unavailable(`backend "${name}" has no url`);
  const headerFiles = forward?.add_headers_from_file;
  tryFiles(caFile, headerFiles);
  return {
    url: new URL(url),
    headers: {
      ...lowerCase(forward?.add_plaintext_headers),
      ...headerPlaces(headerFiles),
      ...(host !== undefined && { host }),
    },
    headerFiles,
    caFile,
    policy: policyFor(url, {
      allowPrivateIPs: backend.allow_private_ips,
      insecureAllowHTTP: backend.insecure_allow_http,
    }),
  } satisfies Partial<HttpTransportOptions>;
}

const lowerCase = (headers: Readonly<Record<string, string>> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

function tryFiles(caFile: string | undefined, headerFiles: HeaderFiles = {}): void {
  try {
    if (caFile !== undefined) readText(caFile, 'the CA bundle');
    for (const [name, path] of Object.entries(headerFiles)) headerFromFile(name, path);
  } catch (error) {
    throw error instanceof CredentialError ? unavailable(error.message) : error;
  }
}

const unavailable = (detail: string): BackendError => new BackendError({ kind: 'unavailable', detail });

const withoutLauncher = (backend: Backend): Transport => ({
  open: () => Promise.reject(unavailable(`nothing here can run the process of "${backend.name}"`)),
  close: () => Promise.resolve(),
});
