import { Secrets } from '../secrets.ts';
import { absentKeyring } from './fakes.ts';

/** Creates secrets in a state folder without end, several at a time. Prints the name of each secret that was acknowledged. */
const [stateDir = '', prefix = ''] = process.argv.slice(2);
const secrets = new Secrets({
  stateDir,
  env: { VMCP_SECRETS_PASSWORD: 'of-the-test' },
  keyring: absentKeyring,
  connectOnePassword: async () => Promise.reject(new Error('not used')),
  log2Cost: 4,
});
await secrets.setUp('encrypted', undefined);

async function create(writer: number): Promise<never> {
  for (let index = 0; ; index += 1) {
    const name = `${prefix}-${String(writer)}-${String(index)}`;
    await secrets.create(name, `value of ${name}`);
    process.stdout.write(`${name}\n`);
  }
}

await Promise.all([0, 1, 2, 3].map(create));
