import type { MCPServer } from '../resolve/snapshot.ts';

type Spec = MCPServer['spec'];

const DEFAULT_PORT = 8080;

export const transportOf = ({ transport = 'stdio' }: Spec): NonNullable<Spec['transport']> => transport;

/** Returns the port of its Service. */
export const servicePort = ({ proxyPort = DEFAULT_PORT }: Spec): number => proxyPort;
