import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import { Agent } from 'undici';
import type { Logger } from 'winston';
import type { Backend, Operational } from '../../contract/gateway-config.ts';
import type { Launcher } from '../../workloads/runner/runner.ts';
import { initTimeoutMs } from '../backends/backend.ts';
import { BackendError, type Transport } from './channel.ts';
import { httpTransport, type HttpTransportOptions } from './http.ts';
import { sseTransport } from './sse.ts';
import { stdioTransport } from './stdio.ts';

export interface TransportsOptions {
  readonly log: Logger;
  readonly version: string;
  readonly launcher: Launcher | undefined;
  readonly now: () => number;
}

const MAX_REPLY_BYTES = 32 * 1024 * 1024;

const CHILD_IDLE_MS = 600_000;
const DEFAULT_PROCESSES = 16;

/** The transport of each backend; a new one is a file here and a line below. */
export const createTransports =
  ({ log, version, launcher, now }: TransportsOptions) =>
  (backend: Backend, operational: Operational): Transport => {
    const shared = {
      name: backend.name,
      log: log.child({ backend: backend.name }),
      clientInfo: { name: 'vmcp', version },
      initTimeoutMs: initTimeoutMs(operational, backend.name),
    };
    switch (backend.transport) {
      case 'streamable-http':
        return onOpen(() => httpTransport({ ...shared, ...httpOptions(backend), maxReplyBytes: MAX_REPLY_BYTES }));
      case 'sse':
        return onOpen(() => {
          const { url, headers, ca } = httpOptions(backend);
          const dispatcher = new Agent(ca ? { connect: { ca: [...rootCertificates, ...ca] } } : {});
          const transport = sseTransport({ ...shared, url, headers, dispatcher, maxMessageBytes: MAX_REPLY_BYTES });
          return { ...transport, close: () => transport.close().then(() => dispatcher.destroy()) };
        });
      case 'stdio': {
        const { process } = backend;
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
        });
      }
    }
  };

/**
 * Makes a transport when it is first opened, and anew at each opening until that succeeds: a file that cannot be read
 * makes its backend unavailable until it can.
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

/** @throws BackendError */
function httpOptions(backend: Backend): Pick<HttpTransportOptions, 'url' | 'headers' | 'ca'> {
  const { name, url, ca_bundle_file: bundle } = backend;
  if (url === undefined) throw unavailable(`backend "${name}" has no url`);
  return {
    url: new URL(url),
    headers: forwardedHeaders(backend),
    ca: bundle === undefined ? undefined : [readText(bundle, 'the CA bundle')],
  };
}

function forwardedHeaders({ header_forward: forward }: Backend): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(forward?.add_plaintext_headers ?? {})) headers[name.toLowerCase()] = value;
  for (const [name, file] of Object.entries(forward?.add_headers_from_file ?? {})) {
    headers[name.toLowerCase()] = readText(file, `the value of header ${name}`).replace(/\r?\n$/, '');
  }
  return headers;
}

function readText(file: string, what: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    throw unavailable(`${what} stands in ${file}, which cannot be read (${code})`);
  }
}

const unavailable = (detail: string): BackendError => new BackendError({ kind: 'unavailable', detail });

const withoutLauncher = (backend: Backend): Transport => ({
  open: () => Promise.reject(unavailable(`nothing here can run the process of "${backend.name}"`)),
  close: () => Promise.resolve(),
});
