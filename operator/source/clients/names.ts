/** Maximum length of the name of a stdio server. */
const MAX_LENGTH = 48;

/** Returns the DNS label that is most similar to a text: `My Server_1` becomes `my-server-1`. */
export function labelOf(text: string): string {
  const plain = text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const label = plain
    .replace(/[^a-z0-9]+/gu, '-')
    .replace(/^-/u, '')
    .slice(0, MAX_LENGTH)
    .replace(/-$/u, '');
  return label === '' ? 'server' : label;
}

/** Returns `name`, or `name-2`, `name-3` and so on when it is taken. */
export function freeName(name: string, isTaken: (name: string) => boolean): string {
  let free = name;
  for (let number = 2; isTaken(free); number += 1) {
    const suffix = `-${String(number)}`;
    free = `${name.slice(0, MAX_LENGTH - suffix.length)}${suffix}`;
  }
  return free;
}
