import type { Request, RequestHandler } from 'express';
import { redirectTo } from '../http/endpoint/operation.ts';
import { sendPage } from '../http/page/page.ts';
import { hasUsers, issuerOf } from '../incoming/index.ts';
import type { Viewer } from '../policy/policy.ts';
import { identityOf, principalOf } from '../vmcp/edge/caller.ts';
import { toolCounts } from '../vmcp/status.ts';
import type { VirtualServer } from '../vmcp/virtual-server.ts';
import type { Inside, LandingFacts } from './landing-page.ts';

interface LandingOptions {
  readonly server: VirtualServer;
  /** Boundary 1. */
  readonly authenticate: RequestHandler;
  /** Returns the MCP URL for clients; undefined when only clients know it. Never from a request: a Host can be forged. */
  readonly clientUrl: () => string | undefined;
  /** Command that starts vmcp on the machine of the user. */
  readonly program?: string | undefined;
  readonly version: string;
}

/**
 * Answers a browser with a page about the virtual server, and passes on other requests. The page lists the backends
 * only if the virtual server is anonymous or the request has valid credentials.
 */
export function landing({ server, authenticate, clientUrl, program, version }: LandingOptions): RequestHandler {
  return async (req, res, next) => {
    res.vary('Accept');
    if (!acceptsHtml(req)) {
      next();
      return;
    }
    const { landingPage } = await import('./landing-page.ts'); // on demand: a gateway starts without it
    const { config } = server;
    const send = (inside?: Inside): void => {
      const facts: LandingFacts = { name: server.name, url: clientUrl(), issuer: issuerOf(config), program, inside };
      sendPage(res, landingPage(facts));
    };
    const sendTo = (viewer: Viewer): void => {
      send({ version, backends: backendsOf(server, viewer) });
    };
    if (!hasUsers(config.vmcp.incoming.type)) sendTo({ principal: principalOf(res), identity: undefined });
    else if (req.headers.authorization === undefined) send();
    else {
      await authenticate(req, res, (error?: unknown) => {
        if (error === undefined) sendTo({ principal: principalOf(res), identity: identityOf(res) });
        else next(error);
      });
    }
  };
}

/** Returns the URL of the page of the virtual server with this MCP URL. */
export const pageUrlOf = (mcpUrl: string | undefined): string | undefined =>
  mcpUrl === undefined ? undefined : URL.parse('.', mcpUrl.replace(/\/$/u, ''))?.href;

/**
 * Sends a browser that opens the URL of an MCP endpoint to the page about the virtual server, and passes on other requests. The
 * target is relative, because a proxy may serve the endpoint below another path.
 */
export const pageInsteadOfStream: RequestHandler = (req, res, next) => {
  const { accept = '', authorization } = req.headers;
  if (authorization === undefined && acceptsHtml(req) && !accept.includes('text/event-stream')) {
    res.vary('Accept');
    redirectTo(res, req.path.endsWith('/') ? '../' : './');
  } else next();
};

const acceptsHtml = ({ headers: { accept = '' } }: Request): boolean => /\btext\/html\b/iu.test(accept);

function backendsOf(server: VirtualServer, viewer: Viewer): Inside['backends'] {
  const { backends } = server.fleet.health();
  const tools = toolCounts(server, server.views.sharedFor(viewer));
  return server.config.vmcp.backends.map(({ name }) => ({
    name,
    state: backends[name]?.status ?? 'unknown',
    tools: tools.get(name),
  }));
}
