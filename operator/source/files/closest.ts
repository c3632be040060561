const MAX_DISTANCE = 3;

/** Returns the known word that is most similar to a misspelt one, if any is similar enough. */
export function closest(word: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((candidate) => ({ candidate, distance: editDistance(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, distance }) => distance <= Math.min(MAX_DISTANCE, Math.ceil(candidate.length / 3)))
    .toSorted((a, b) => a.distance - b.distance);
  return ranked[0]?.candidate;
}

/** Returns the Levenshtein distance of two words. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 0; row < a.length; row += 1) {
    const current = [row + 1];
    for (let column = 0; column < b.length; column += 1) {
      const replaced = (previous[column] ?? 0) + Number(a[row] !== b[column]);
      current.push(Math.min(replaced, (previous[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
