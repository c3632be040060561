/** Limits running requests, in total and per host. A request without a slot fails at once. */
export class FetchSlots {
  readonly #overall: number;
  readonly #perHost: number;
  readonly #running = new Map<string, number>();
  #total = 0;

  constructor({ overall, perHost }: { readonly overall: number; readonly perHost: number }) {
    this.#overall = overall;
    this.#perHost = perHost;
  }

  /** Takes a slot and returns the function that releases it, to be called once; undefined when none is free. */
  take(host: string): (() => void) | undefined {
    const ofHost = this.#running.get(host) ?? 0;
    if (this.#total >= this.#overall || ofHost >= this.#perHost) return undefined;
    this.#total += 1;
    this.#running.set(host, ofHost + 1);
    return () => {
      this.#total -= 1;
      const left = (this.#running.get(host) ?? 1) - 1;
      if (left > 0) this.#running.set(host, left);
      else this.#running.delete(host);
    };
  }
}
