import express, { type Express, type RequestHandler } from 'express';
import type { Registry } from 'prom-client';
import type { Boundary } from './incoming/boundary.ts';
import { fail, methodNotAllowed, notFound } from './http/errors.ts';
import { liveness, readiness } from './http/health.ts';
import { hostGuard, originGuard, type CurrentOrigins } from './http/origin-guard.ts';
import { logRefusals } from './http/log-refusals.ts';
import { requestId } from './http/request-id.ts';
import type { RefusalLog } from './telemetry/refusal-log.ts';
import { legacySse } from './vmcp/edge/legacy-sse.ts';
import { mcpPost, type EdgeOptions } from './vmcp/edge/post.ts';
import { mcpDelete, mcpGet } from './vmcp/edge/stream.ts';
import { backendsHealth, status } from './vmcp/status.ts';
import type { VirtualServer } from './vmcp/virtual-server.ts';
import type { Logger } from './contract/logger.ts';

export interface AppOptions {
  readonly log: Logger;
  readonly origins: CurrentOrigins;
  /** Starts every request id of this process. */
  readonly requestIdPrefix: string;
  readonly refusals: RefusalLog;
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
}

/** Creates the handlers that MCP clients reach, in order. Nothing else calls `app.use`. */
export function createPublicApp(
  server: VirtualServer,
  edge: EdgeOptions,
  { boundary, authServer }: Gate,
  options: AppOptions,
): Express {
  const app = bareApp();
  logRefusals(app, options.refusals);
  app.use(requestId(options.requestIdPrefix)); // on every answer, refusals too
  app.get(['/health', '/ping'], liveness); // before anything that can refuse
  app.get('/readyz', readiness(server));
  app.all(['/health', '/ping', '/readyz'], methodNotAllowed('GET', 'HEAD'));
  app.use((req, res, next) => {
    boundary.current.metadata(req, res, next); // before the check of Origin and Host: the metadata is public
  });
  app.use((req, res, next) => {
    if (authServer.current) authServer.current.metadata(req, res, next);
    else next();
  });
  app.use('/.well-known', notFound('clients probe here what there may be')); // without authentication, so that probes get 404
  app.use(hostGuard(options.origins));
  app.use((req, res, next) => {
    // before the check of Origin: other pages may register, and browsers return from providers
    if (authServer.current) authServer.current.endpoints(req, res, next);
    else next();
  });
  app.use(originGuard(options.origins));
  app.use((req, res, next) => {
    boundary.current.authenticate(req, res, next);
  });
  app.head('/mcp', methodNotAllowed('POST', 'GET', 'DELETE')); // `get` would take it, and open a stream
  app.post('/mcp', mcpPost(server, edge));
  app.get('/mcp', mcpGet(server));
  app.delete('/mcp', mcpDelete(server));
  app.all('/mcp', methodNotAllowed('POST', 'GET', 'DELETE'));
  const legacy = legacySse(server, edge, '/messages');
  app.head('/sse', methodNotAllowed('GET'));
  app.get('/sse', legacy.get);
  app.all('/sse', methodNotAllowed('GET'));
  app.post('/messages', legacy.post);
  app.all('/messages', methodNotAllowed('POST'));
  app.use(notFound('the MCP endpoint is /mcp'));
  app.use(fail(options.log));
  return app;
}

/** Creates the handlers that operators reach, in order. */
export function createManagementApp(
  servers: () => readonly VirtualServer[],
  registry: Registry,
  version: string,
  options: AppOptions,
): Express {
  const app = bareApp();
  logRefusals(app, options.refusals);
  app.use(requestId(options.requestIdPrefix));
  app.use(hostGuard(options.origins), originGuard(options.origins));
  app.get('/metrics', async (_req, res) => {
    res.type(registry.contentType).send(await registry.metrics());
  });
  app.get('/status', status(servers, version));
  app.get('/api/backends/health', backendsHealth(servers));
  app.all(['/metrics', '/status', '/api/backends/health'], methodNotAllowed('GET', 'HEAD'));
  app.use(notFound('try /status, /metrics or /api/backends/health'));
  app.use(fail(options.log));
  return app;
}

function bareApp(): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').set('query parser', false);
  return app;
}
