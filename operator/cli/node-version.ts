/** `engines.node` of package.json. */
const NEEDED = [22, 15] as const;

/** Returns what to do when vmcp cannot run on this version of Node.js; undefined when it can. */
export function nodeVersionProblem(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [neededMajor, neededMinor] = NEEDED;
  if (major > neededMajor || (major === neededMajor && minor >= neededMinor)) return undefined;
  return `${version} is too old: install version ${NEEDED.join('.')} or later from https://nodejs.org`;
}
