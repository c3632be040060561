import type { Environment } from '../../../workloads/runner/environment.ts';
import type { ListedSecret, ProviderVariant, SecretsProvider } from './provider.ts';
import type { ConnectOnePassword, OnePassword } from '../one-password-sdk.ts';
import { SecretsFailure } from '../secrets-failure.ts';
import { withinTime } from '../../../kit/time.ts';

const CONNECT_TIMEOUT_MS = 5_000;

/** Read-only provider: the 1Password vaults that the token of a service account can read. */
export const onePassword: ProviderVariant<'1password'> = {
  type: '1password',
  hasFallback: true,
  create: ({ env, connectOnePassword }) => new OnePasswordProvider(env, connectOnePassword),
};

class OnePasswordProvider implements SecretsProvider {
  readonly #env: Environment;
  readonly #connect: ConnectOnePassword;
  #connection: Promise<OnePassword> | undefined;

  constructor(env: Environment, connect: ConnectOnePassword) {
    this.#env = env;
    this.#connect = connect;
  }

  async setUp(): Promise<void> {
    this.#connection = undefined;
    await this.#with(async () => undefined);
  }

  async get(name: string): Promise<string | undefined> {
    return name.startsWith('op://') ? this.#with((connection) => connection.resolve(name)) : undefined;
  }

  async list(): Promise<readonly ListedSecret[]> {
    const fields = await this.#with((connection) => connection.fields());
    return fields.map(({ reference, description }) => ({ key: reference, description }));
  }

  /** Connects again after a failure. Omits messages of the SDK, because they may quote the token. */
  async #with<Result>(use: (connection: OnePassword) => Promise<Result>): Promise<Result> {
    try {
      this.#connection ??= this.#open();
      return await use(await this.#connection);
    } catch (error) {
      this.#connection = undefined;
      if (error instanceof SecretsFailure) throw error;
      throw new SecretsFailure(
        'unavailable',
        '1Password refuses the request: check OP_SERVICE_ACCOUNT_TOKEN and the network',
      );
    }
  }

  async #open(): Promise<OnePassword> {
    const token = this.#env['OP_SERVICE_ACCOUNT_TOKEN'];
    if (!token)
      throw new SecretsFailure('settings', 'OP_SERVICE_ACCOUNT_TOKEN is not set: set it and start vmcp again');
    const late = (): SecretsFailure =>
      new SecretsFailure('unavailable', '1Password does not answer within 5 s: check the network');
    return withinTime(CONNECT_TIMEOUT_MS, () => this.#connect(token), late);
  }
}
