import { mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import { replaceFileSync } from '../../kit/files.ts';
import { SerialQueue } from '../../kit/tasks.ts';

/** Returns true when a listener can be opened there now. Port 0 is never free. */
export async function isPortFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  return port > 0 && (await listenBriefly(port, host)) !== undefined;
}

/** Returns the system's error code when nothing can listen on `host`; undefined otherwise. */
export function hostFault(host: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      resolve(error.code ?? error.message);
    });
    server.listen({ port: 0, host, exclusive: true }, () => {
      server.close(() => {
        resolve(undefined);
      });
    });
  });
}

function listenBriefly(port: number, host: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.unref();
    server.once('error', () => {
      resolve(undefined);
    });
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address();
      server.close(() => {
        resolve(typeof address === 'object' && address ? address.port : undefined);
      });
    });
  });
}

export interface PortBook {
  /**
   * Returns the loopback port of workload `key`: `preferred`, else its earlier one, else any. Never a busy port or one of
   * another workload. Call it again only when the workload is stopped.
   */
  portFor(key: string, preferred?: number): Promise<number>;
  /** Forgets the port of a workload that no longer exists. */
  forget(key: string): void;
}

/** Stores the ports of HTTP workloads in a JSON file, so that they stay the same across restarts if possible. */
export function openPortBook(file: string): PortBook {
  const kept = new Map(Object.entries(readPorts(file)));
  const queue = new SerialQueue();
  const choose = async (key: string, preferred: number | undefined): Promise<number> => {
    const others = new Set([...kept].filter(([other]) => other !== key).map(([, port]) => port));
    const usable = async (port: number) => !others.has(port) && (await isPortFree(port));
    for (const candidate of [preferred, kept.get(key)]) {
      if (candidate !== undefined && (await usable(candidate))) return candidate;
    }
    for (;;) {
      const port = await listenBriefly(0, '127.0.0.1');
      if (port === undefined) throw new Error('no free loopback port: close programs that hold many sockets');
      if (!others.has(port)) return port;
    }
  };
  const portFor = async (key: string, preferred: number | undefined): Promise<number> => {
    const port = await choose(key, preferred);
    if (kept.get(key) !== port) writePorts(file, Object.fromEntries(kept.set(key, port)));
    return port;
  };
  return {
    portFor: (key, preferred) => queue.run(() => portFor(key, preferred)),
    forget(key) {
      if (kept.delete(key)) writePorts(file, Object.fromEntries(kept));
    },
  };
}

/** Reads the ports by name. An unreadable file counts as empty. */
export function readPorts(file: string): Record<string, number> {
  try {
    const parsed: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (typeof parsed !== 'object' || parsed === null) return {};
    const entries = Object.entries(parsed as Record<string, unknown>);
    return Object.fromEntries(
      entries.filter((entry): entry is [string, number] => Number.isInteger(entry[1]) && Number(entry[1]) > 0),
    );
  } catch {
    return {};
  }
}

export function writePorts(file: string, ports: Readonly<Record<string, number>>): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  replaceFileSync(file, `${JSON.stringify(ports, null, 2)}\n`, `${file}.${process.pid}`); // processes may share the file
}
