/** A key or secret is unusable. `message` says what to change and contains nothing from the key. */
export class KeyRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'KeyRefused';
  }
}

/** Runs `read`, and adds the name of the file to a `KeyRefused`. */
export function inFile<Value>(file: string, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw error instanceof KeyRefused ? new KeyRefused(`${file}: ${error.message}`) : error;
  }
}
