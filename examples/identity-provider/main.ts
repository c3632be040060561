/** An identity provider for development on one machine: `npx node examples/identity-provider/main.ts`. */
import { parseArgs } from 'node:util';
import { failToListen } from '../backends/listen.ts';
import { GATEWAY_CLIENT, startIdentityProvider } from './provider.ts';

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '4400' },
    host: { type: 'string', default: '127.0.0.1' },
    'redirect-uri': { type: 'string', multiple: true, default: [] },
    opaque: { type: 'boolean', default: false },
    'token-seconds': { type: 'string', default: '3600' },
  },
});

const options = {
  port: Number(values.port),
  host: values.host,
  redirectUris: values['redirect-uri'],
  opaque: values.opaque,
  accessTokenSeconds: Number(values['token-seconds']),
  log: print,
};

startIdentityProvider(options).then(
  (provider) => {
    print(`Identity provider for development: ${provider.issuer}
  a token without a browser   curl -s ${provider.issuer}/dev/token/alice
  client of the gateway       ${GATEWAY_CLIENT.id} / ${GATEWAY_CLIENT.secret}
  access tokens               ${values.opaque ? 'opaque: ask the introspection endpoint' : 'JWT'}
Any user name and password work. Stop with Ctrl-C.`);
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void provider.close());
  },
  (error: unknown) => {
    failToListen(error, '--port or --host');
  },
);
