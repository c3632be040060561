import type { ExplainedServer, ToolListing } from './management/policies/explained-servers.ts';
import type { KnownTool } from './policy/explain/explanation.ts';
import type { Route, View } from './vmcp/aggregation/view.ts';
import type { VirtualServer } from './vmcp/virtual-server.ts';

/** Returns a virtual server as the explanation of policies reads it. */
export const explainedServer = ({ name, config, views, fleet }: VirtualServer): ExplainedServer => ({
  name,
  namespace: config.vmcp.namespace,
  config,
  listTools: async (): Promise<ToolListing> => {
    await views.shared.whenSettled();
    const { current } = views.shared;
    return { tools: toolsOf(current), unknown: [...new Set([...current.unavailable, ...fleet.personal])].toSorted() };
  },
});

/** The full form of a shortened name is a second key of its route: each route counts once. */
function toolsOf({ tools, hiddenTools }: View): KnownTool[] {
  const known = (routes: Iterable<Route>, isVisible: boolean): KnownTool[] =>
    [...new Map([...routes].map((route) => [route.advertised, route])).values()].map(
      ({ advertised, backend, json }) => ({ name: advertised, backend, json, isVisible }),
    );
  const all = [...known(tools.values(), true), ...known(hiddenTools.values(), false)];
  return all.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
