import type { RequestHandler } from 'express';
import type { VirtualServer } from './virtual-server.ts';

const NO_STORE = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' };

/** `/status` of one server: names and states, no addresses and no errors, because nobody is asked who they are. */
function statusOf(server: VirtualServer, version: string): object {
  const { backends } = server.fleet.health();
  return {
    name: server.name,
    group_ref: server.config.group ?? '',
    version,
    metadata: server.config.vmcp.metadata,
    healthy: Object.values(backends).some(({ status }) => status === 'healthy' || status === 'degraded'),
    incoming: { type: server.config.vmcp.incoming.type, ...server.incoming },
    sessions: server.sessions.size,
    backends: server.config.vmcp.backends.map(({ name, transport }) => ({
      name,
      health: backends[name]?.status ?? 'unknown',
      transport,
      mcp_revision: server.fleet.revision(name),
    })),
    problems: [...server.views.shared.problems, ...server.fleet.misconfigured().map(credentialProblem)],
  };
}

const credentialProblem = (backend: string): object => ({
  reason: 'CredentialMisconfigured',
  path: `vmcp.outgoing_auth.${backend}`,
  message: `no credential can be made for backend "${backend}": the log says why`,
});

/** One object for one server; `servers` with one object each where a process runs several. */
export const status =
  (servers: () => readonly VirtualServer[], version: string): RequestHandler =>
  (_req, res) => {
    const all = servers().map((server) => statusOf(server, version));
    res.set(NO_STORE).json(all.length === 1 ? all[0] : { version, servers: all });
  };

/** `/api/backends/health`. */
export const backendsHealth =
  (servers: () => readonly VirtualServer[]): RequestHandler =>
  (_req, res) => {
    const all = servers().map((server) => ({ name: server.name, ...server.fleet.health() }));
    if (all.length !== 1) {
      res.set(NO_STORE).json({ servers: all });
      return;
    }
    res.set(NO_STORE).json(servers()[0]?.fleet.health());
  };
