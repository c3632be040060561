import express, { type Express, type Request, type RequestHandler, type Response } from 'express';
import type { Registry } from 'prom-client';
import type { AuditLog } from './audit/audit-log.ts';
import { AuditedRequest, auditOf } from './audit/audited-request.ts';
import { auditManagement, refuseUnrecorded } from './audit/management-requests.ts';
import type { Boundary } from './incoming/boundary.ts';
import { sendAddedHeaders, requestId } from './http/head/added-headers.ts';
import { fail, methodNotAllowed, notFound } from './http/errors.ts';
import { serveDirectly, inOrder } from './http/direct-route.ts';
import { liveness, readiness } from './http/health.ts';
import { hostGuard, originGuard, pageBodyGuard, type CurrentOrigins } from './http/origin-guard.ts';
import { logRefusals } from './http/log-refusals.ts';
import { joinUnreadPieces } from './http/body/unread-pieces.ts';
import { landing, pageInsteadOfStream } from './landing/landing.ts';
import type { RefusalLog } from './telemetry/refusal-log.ts';
import { turnKeys } from './vmcp/edge/caller.ts';
import { legacySse } from './vmcp/edge/legacy-sse.ts';
import { mcpPost, type EdgeOptions } from './vmcp/edge/post.ts';
import { mcpDelete, mcpGet } from './vmcp/edge/stream.ts';
import { backendsHealth, status } from './vmcp/status.ts';
import type { VirtualServer } from './vmcp/virtual-server.ts';
import type { Logger } from './contract/logger.ts';
import { MCP_PATH, pageIsNextToMcp, targetAtGateway, type PublicPaths } from './contract/paths/public-paths.ts';

export interface AppOptions {
  readonly log: Logger;
  readonly origins: CurrentOrigins;
  /** Starts every request id of this process. */
  readonly requestIdPrefix: string;
  readonly refusals: RefusalLog;
}

/** Current audit log; undefined while it is off. */
export interface CurrentAudit {
  readonly current: AuditLog | undefined;
}

/** Current boundary 1. */
export interface CurrentBoundary {
  current: Boundary;
}

/** Current embedded authorization server. */
export interface CurrentAuthServer {
  current?: { readonly metadata: RequestHandler; readonly endpoints: RequestHandler } | undefined;
}

/** Boundary and embedded authorization server of one virtual server. */
export interface Gate {
  readonly boundary: CurrentBoundary;
  readonly authServer: CurrentAuthServer;
  /** Returns the MCP URL for clients; undefined when only clients know it. */
  readonly clientUrl: () => string | undefined;
  /** Command that starts vmcp on the machine of the users, if that is this machine. */
  readonly program?: string | undefined;
  /** Paths in the URLs of clients. */
  readonly paths: { readonly current: PublicPaths };
  readonly audit: CurrentAudit;
}

/** Handler of all requests, or of all except calls. */
type Layer = RequestHandler | { readonly besideCalls: RequestHandler };

const isOfCalls = (layer: Layer): layer is RequestHandler => typeof layer === 'function';

/** Creates the handlers that MCP clients reach, in order. Nothing else calls `app.use`. */
export function createPublicApp(
  server: VirtualServer,
  edge: Omit<EdgeOptions, 'turnKeyOf'>,
  gate: Gate,
  options: AppOptions,
): Express {
  const { boundary, audit } = gate;
  const app = bareApp();
  logRefusals(app, options.refusals);
  const layers: readonly Layer[] = [
    requestId(options.requestIdPrefix), // on every answer, refusals too
    { besideCalls: probes(server) }, // before anything that can refuse
    (req, res, next) => {
      if (!audit.current || startAudit(audit.current, req, res)) next(); // before anything that can refuse, probes excepted
    },
    { besideCalls: metadata(gate) }, // before the check of Origin and Host: the metadata is public
    hostGuard(options.origins),
    { besideCalls: authServerEndpoints(gate) }, // before the check of Origin: other pages may register, and browsers return
    originGuard(options.origins),
  ];
  app.use(inOrder(...layers.map((layer) => (isOfCalls(layer) ? layer : layer.besideCalls))));
  const authenticate: RequestHandler = (req, res, next) => {
    boundary.current.authenticate(req, res, next);
  };
  const edgeOptions = { ...edge, turnKeyOf: turnKeys(server) };
  const post = mcpPost(server, edgeOptions);
  const onError = fail(options.log);
  const serve = inOrder(...layers.filter(isOfCalls), authenticate, post);
  const targetOf = (url: string): string => targetAtGateway(url, gate.paths.current);
  serveDirectly(app, { method: 'POST', url: MCP_PATH, serve, onError, targetOf });
  const page: RequestHandler = (req, res, next) => {
    if (pageIsNextToMcp(gate.paths.current)) pageInsteadOfStream(req, res, next);
    else next();
  };
  routeMcp(app, server, edgeOptions, { page, authenticate, post });
  // after the MCP paths, so that their requests are not compared with it
  const { program } = gate;
  app.get('/', landing({ server, authenticate, clientUrl: () => gate.clientUrl(), program, version: edge.version }));
  app.use(authenticate, (req, res, next) => {
    notFound(`the MCP endpoint is ${gate.paths.current.mcp}`)(req, res, next);
  });
  app.use(onError);
  return app;
}

function probes(server: VirtualServer): RequestHandler {
  const router = express.Router();
  router.get(['/health', '/ping'], liveness);
  router.get('/readyz', readiness(server));
  router.all(['/health', '/ping', '/readyz'], methodNotAllowed('GET', 'HEAD'));
  return router;
}

/** Serves the metadata of both boundaries. */
function metadata({ boundary, authServer, paths }: Gate): RequestHandler {
  const router = express.Router();
  router.use((req, res, next) => {
    boundary.current.metadata(req, res, next);
  });
  const ofAuthServer = underPublicPath(paths, (req, res, next) => {
    if (authServer.current) authServer.current.metadata(req, res, next);
    else next();
  });
  router.use(ofAuthServer);
  router.use('/.well-known', notFound('clients probe here what there may be')); // without authentication, so that probes get 404
  return router;
}

const authServerEndpoints = ({ authServer, audit, paths }: Gate): RequestHandler =>
  underPublicPath(paths, (req, res, next) => {
    const { current } = authServer;
    if (!current) next();
    else if (!audit.current) current.endpoints(req, res, next);
    else {
      // its events name the request that causes them
      auditOf(res)?.during(() => {
        current.endpoints(req, res, next);
      });
    }
  });

/**
 * Passes a request to a handler under its public path and, if that does not answer, under its own. Paths of an authorization
 * server start with the path of its issuer, which may start with the prefix.
 */
const underPublicPath =
  (paths: { readonly current: PublicPaths }, handler: RequestHandler): RequestHandler =>
  (req, res, next) => {
    const { url } = req;
    const { prefix } = paths.current;
    if (prefix === '') {
      void handler(req, res, next);
      return;
    }
    req.url = prefix + url;
    void handler(req, res, (error?: unknown) => {
      req.url = url;
      if (error) next(error);
      else void handler(req, res, next);
    });
  };

/** Starts the record of a request. Returns false after a refusal, because no further event can be written. */
function startAudit(log: AuditLog, req: Request, res: Response): boolean {
  if (!log.refusesRequests) {
    AuditedRequest.start(log, req, res);
    return true;
  }
  refuseUnrecorded(res);
  return false;
}

/** Adds the paths of the MCP transports. Each is one route, so that a call passes few layers. */
function routeMcp(
  app: Express,
  server: VirtualServer,
  edge: EdgeOptions,
  { page, authenticate, post }: Record<'page' | 'authenticate' | 'post', RequestHandler>,
): void {
  const mcpMethods = methodNotAllowed('POST', 'GET', 'DELETE');
  app
    .route(MCP_PATH)
    .get(page)
    .all(authenticate)
    .head(mcpMethods) // otherwise Express passes HEAD to `get`, which opens a stream
    .post(post)
    .get(mcpGet(server))
    .delete(mcpDelete(server))
    .all(mcpMethods);
  const legacy = legacySse(server, edge, '/messages');
  app
    .route('/sse')
    .get(page)
    .all(authenticate)
    .head(methodNotAllowed('GET'))
    .get(legacy.get)
    .all(methodNotAllowed('GET'));
  app.route('/messages').all(authenticate).post(legacy.post).all(methodNotAllowed('POST'));
}

export interface ManagementAppOptions extends AppOptions {
  /** Authenticates every request; absent where only this machine can connect. */
  readonly boundary?: Boundary | undefined;
  /** Management API; absent in pods of gateways. */
  readonly api?: RequestHandler | undefined;
  /** Lists the audit logs of the process, one for each output. */
  readonly auditLogs: () => readonly AuditLog[];
}

/** Creates the handlers that operators reach, in order. */
export function createManagementApp(
  servers: () => readonly VirtualServer[],
  registry: Registry,
  version: string,
  { boundary, api, auditLogs, ...options }: ManagementAppOptions,
): Express {
  const app = bareApp();
  logRefusals(app, options.refusals);
  app.use(requestId(options.requestIdPrefix));
  app.use(auditManagement(auditLogs));
  if (api) app.use(securityHeaders);
  if (boundary) app.use(boundary.metadata);
  app.use(hostGuard(options.origins), originGuard(options.origins), pageBodyGuard);
  if (boundary) app.use(boundary.authenticate);
  app.get('/metrics', async (req, res, next) => {
    if (servesMetrics(servers())) res.type(registry.contentType).send(await registry.metrics());
    else metricsOff(req, res, next);
  });
  app.get('/status', status(servers, version));
  app.get('/api/backends/health', backendsHealth(servers));
  app.all(['/metrics', '/status', '/api/backends/health'], methodNotAllowed('GET', 'HEAD'));
  if (api) app.use(api);
  app.use(notFound('try /status, /metrics or /api/backends/health'));
  app.use(fail(options.log));
  return app;
}

const metricsOff = notFound('enableMetricsPath is false');

/** Returns false when every virtual server of the process turns `/metrics` off. */
const servesMetrics = (servers: readonly VirtualServer[]): boolean =>
  servers.length === 0 || servers.some(({ config }) => config.telemetry_config?.enableMetricsPath !== false);

/** Set before the checks of Host, Origin and token, so that their refusals have them too. */
const securityHeaders: RequestHandler = (_req, res, next) => {
  res.set({ 'X-Content-Type-Options': 'nosniff', 'Cross-Origin-Resource-Policy': 'same-origin' });
  next();
};

function bareApp(): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').set('query parser', false);
  sendAddedHeaders(app);
  joinUnreadPieces(app.request);
  return app;
}
