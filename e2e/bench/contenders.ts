import { startGateway, writeConfig } from './gateway.ts';
import type { Target } from './options.ts';
import { startServer, type Child } from './processes.ts';
import type { Bench } from './workload.ts';

/** A server under test that speaks MCP at `url`. */
export interface Server {
  readonly name: Target;
  readonly child: Child;
  readonly port: number;
  readonly url: string;
}

export interface BackendSet {
  readonly child: Child;
  readonly backends: readonly { readonly name: string; readonly url: string }[];
}

/** Starts `count` backends in one process, so that they get the same share of the CPU for every target. */
export async function startBackends(
  count: number,
  tools: number,
  { name = 'bench', mode = 'json', credential = '' }: { name?: string; mode?: string; credential?: string } = {},
): Promise<BackendSet> {
  const own = ['--name', name, '--mode', mode, '--credential', credential];
  const argv = ['--listeners', String(count), '--tools', String(tools), ...own];
  const { child, ports } = await startServer('servers/backend.ts', argv);
  return {
    child,
    backends: ports.map((port, index) => ({
      name: `${name}-${String(index + 1)}`,
      url: `http://127.0.0.1:${String(port)}/mcp`,
    })),
  };
}

/** Starts a target over the backends; `stop(server.child)` ends it. */
export async function startTarget(bench: Bench, target: Target, { backends }: BackendSet): Promise<Server> {
  const at = (child: Child, port: number): Server => ({
    name: target,
    child,
    port,
    url: `http://127.0.0.1:${String(port)}/mcp`,
  });
  switch (target) {
    case 'gateway': {
      const { child, port } = await startGateway(bench.root, writeConfig(bench.folder, backends));
      return at(child, port);
    }
    case 'bare-proxy': {
      const { child, ports } = await startServer(
        'servers/bare-proxy.ts',
        backends.flatMap(({ url }) => ['--backend', url]),
      );
      return at(child, ports[0] ?? 0);
    }
  }
}
