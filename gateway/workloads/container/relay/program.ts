import { HALF_CLOSED_MS } from './join.ts';

/** Folders and files of the relay's container. */
export const RELAY_PATHS = { program: '/vmcp/program', sockets: '/vmcp/sockets' } as const;
/** Sockets below `RELAY_PATHS.sockets`, on which vmcp listens. */
export const SOCKET_NAMES = { egress: 'egress', inbound: 'inbound' } as const;

/** Empty file beside the sockets, which replaces files of the image. */
export const EMPTY_FILE = 'empty';
/** Connections through the proxy, and as many to the server. */
export const MAX_CONNECTIONS = 512;

/** Answer of the relay on an inbound connection, once the server has accepted it. */
export const ACCEPTED = 0x2b;

/**
 * Program of the relay, which shares the network of an isolated server. This network has no interface but loopback.
 *
 * - Outbound: it listens on 127.0.0.1 at the port in its argument (0 for none), and connects each client to `egress`.
 * - Inbound: it keeps one connection to `inbound` open. vmcp writes a port to it, 2 bytes; the relay connects to that
 *   port, answers `ACCEPTED`, and opens the next connection.
 *
 * It ends when vmcp closes `inbound`. With the argument `probe` it ends after the first connection.
 */
export const RELAY_PROGRAM = `
const { connect, createServer } = require('node:net');
const port = process.argv[1];
const end = (code) => () => process.exit(code);
process.on('SIGTERM', end(0));
process.on('SIGINT', end(0));
const join = (a, b) => {
  for (const [from, to] of [[a, b], [b, a]]) {
    from.pipe(to);
    from.once('end', () => to.setTimeout(${HALF_CLOSED_MS}, () => to.destroy()));
    from.on('error', () => to.destroy());
    from.on('close', () => (from.readableEnded && from.writableFinished) || to.destroy());
    if (from.destroyed) to.destroy();
  }
};
const dial = (to) => connect({ ...to, allowHalfOpen: true });
const inbound = () => {
  const host = dial({ path: '${RELAY_PATHS.sockets}/${SOCKET_NAMES.inbound}' });
  host.on('error', (error) => { if (idle) { console.error(error.message); process.exit(1); } });
  for (const event of ['end', 'close']) host.on(event, () => idle && process.exit(0));
  let idle = true;
  if (port === 'probe') host.on('connect', end(0));
  host.once('data', (head) => {
    idle = false;
    host.pause();
    inbound();
    const server = dial({ host: '127.0.0.1', port: head.readUInt16BE(0) });
    const refuse = () => host.destroy();
    const leave = () => server.destroy();
    server.once('error', refuse);
    host.once('close', leave);
    server.once('connect', () => {
      server.off('error', refuse);
      host.off('close', leave);
      host.write(Buffer.of(${ACCEPTED}));
      join(host, server);
    });
  });
};
if (Number(port) > 0) {
  const egress = (client) => join(client, dial({ path: '${RELAY_PATHS.sockets}/${SOCKET_NAMES.egress}' }));
  const proxy = createServer({ allowHalfOpen: true }, egress);
  proxy.maxConnections = ${MAX_CONNECTIONS};
  proxy.listen(Number(port), '127.0.0.1', inbound);
} else inbound();
`;
