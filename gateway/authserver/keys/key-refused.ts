/** A key or secret that must not be used. `message` says what to do and quotes nothing of it. */
export class KeyRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'KeyRefused';
  }
}

/** Puts the name of the file in front of what is wrong with its content. */
export function inFile<Value>(file: string, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw error instanceof KeyRefused ? new KeyRefused(`${file}: ${error.message}`) : error;
  }
}
