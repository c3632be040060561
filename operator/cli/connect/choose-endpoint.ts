import type { ClientEndpoint } from '../../../gateway/management/clients/client.ts';
import type { Running, RunningServer } from '../../local/running.ts';

export interface EndpointFlags {
  readonly url?: string;
  readonly name?: string;
}

/** `message` says what to do. */
export type EndpointChoice =
  | { readonly endpoint: ClientEndpoint }
  | { readonly message: string; readonly isUsage: boolean };

/** Name of an entry for `--url` without `--name`. */
const DEFAULT_NAME = 'vmcp';
/** Names that every client accepts and that need no quotes in any format. */
const ENTRY_NAME = /^[A-Za-z\d][\w.-]{0,63}$/u;

/** Chooses the virtual server to connect to: that of `--url`, or one of the running `vmcp up`. Pure. */
export function chooseEndpoint(
  { url, name }: EndpointFlags,
  running: Running | undefined,
  stateDir: string,
): EndpointChoice {
  if (url !== undefined) return ofUrl(url, name ?? DEFAULT_NAME);
  if (!running) {
    const message = `no vmcp up runs with the state folder ${stateDir}: start it, or name the URL with --url`;
    return { message, isUsage: false };
  }
  const { servers } = running;
  const [only, ...others] = servers;
  if (only && others.length === 0) return named(name ?? only.name, only.mcpUrl);
  const names = servers.map(shownName).join(', ');
  if (name === undefined) {
    return usage(`several virtual servers run (${names}): choose one with --name`);
  }
  const found = servers.filter((server) => server.name === name || shownName(server) === name);
  const [chosen, ...more] = found;
  if (!chosen) return usage(`no virtual server "${name}" runs: choose one of ${names}`);
  if (more.length > 0) return usage(`several virtual servers are called "${name}": choose one of ${names}`);
  return named(chosen.name, chosen.mcpUrl);
}

/** Returns the name with its namespace, which distinguishes servers of one name. */
const shownName = ({ namespace, name }: RunningServer): string => (namespace === '' ? name : `${namespace}/${name}`);

function ofUrl(text: string, name: string): EndpointChoice {
  const url = URL.parse(text);
  if (!url || !/^https?:$/u.test(url.protocol) || url.username !== '' || url.password !== '') {
    return usage('--url must be an http or https URL without a password, such as http://127.0.0.1:4483/mcp');
  }
  return named(name, text);
}

const named = (name: string, url: string): EndpointChoice =>
  ENTRY_NAME.test(name)
    ? { endpoint: { name, url } }
    : usage(
        '--name must start with a letter or digit and have at most 64 letters, digits, dots, hyphens and underscores',
      );

const usage = (message: string): EndpointChoice => ({ message, isUsage: true });
