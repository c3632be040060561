/** Returns the section of a version in a changelog, without its heading; undefined when it is missing or empty. */
export function releaseNotes(changelog: string, version: string): string | undefined {
  const lines = changelog.split('\n');
  const start = lines.findIndex((line) => line === `## [${version}]` || line.startsWith(`## [${version}] `));
  if (start === -1) return undefined;
  const length = lines.slice(start + 1).findIndex((line) => line.startsWith('## ') || /^\[[^\]]+\]: /u.test(line));
  const section = lines.slice(start + 1, length === -1 ? undefined : start + 1 + length);
  return section.join('\n').trim() || undefined;
}
