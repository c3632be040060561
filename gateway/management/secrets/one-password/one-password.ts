/** Field of an item, without its value. */
export interface Field {
  /** Secret reference: `op://vault/item/field`. */
  readonly reference: string;
  /** Titles of vault, item and field. */
  readonly description: string;
}

/** Connection to 1Password. */
export interface OnePassword {
  /** Returns undefined if there is no such field. */
  resolve(reference: string): Promise<string | undefined>;
  fields(): Promise<readonly Field[]>;
}

/** Connects with the token of a service account. */
export type ConnectOnePassword = (token: string) => Promise<OnePassword>;
