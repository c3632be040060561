import type { MCPServer } from '../resolve/snapshot.ts';

type Spec = MCPServer['spec'];

const DEFAULT_PORT = 8080;

export const transportOf = ({ transport = 'stdio' }: Spec): NonNullable<Spec['transport']> => transport;

/** Where the server itself listens. */
export const listeningPort = ({ mcpPort = DEFAULT_PORT }: Spec): number => mcpPort;

/** Where its Service listens. */
export const servicePort = ({ proxyPort = DEFAULT_PORT }: Spec): number => proxyPort;
