import type { Running, RunningServer } from '../../local/running.ts';

/** Options that choose a virtual server. */
export interface EndpointFlags {
  readonly url?: string;
  /** Name or namespace/name of a virtual server of the running gateway. */
  readonly name?: string;
}

/** A virtual server to connect to, or a sentence for the user. */
export type Endpoint =
  | { readonly mcpUrl: string; readonly managementUrl: string | undefined }
  | { readonly problem: string };

/** Chooses the virtual server: that of `--url`, else one of the gateway that runs with the state folder. */
export function chooseEndpoint({ url, name }: EndpointFlags, running: Running | undefined, stateDir: string): Endpoint {
  if (url !== undefined) return { mcpUrl: url, managementUrl: undefined };
  if (!running) {
    return {
      problem: `no gateway runs with the state folder ${stateDir}: start one with vmcp up, or name one with --url`,
    };
  }
  const { servers, managementUrl } = running;
  const matches = servers.filter((server) => name === undefined || isNamed(server, name));
  const [match, ...more] = matches;
  const names = servers.map(fullName).join(', ');
  if (match && more.length === 0) return { mcpUrl: match.mcpUrl, managementUrl };
  if (name === undefined)
    return { problem: `the gateway runs several virtual servers: choose one with --name (${names})` };
  return match
    ? { problem: `"${name}" exists in several namespaces: choose one with --name (${names})` }
    : { problem: `there is no virtual server "${name}": choose one of ${names}` };
}

const fullName = ({ namespace, name }: RunningServer): string => `${namespace}/${name}`;

const isNamed = (server: RunningServer, name: string): boolean => server.name === name || fullName(server) === name;
