import { referencesIn } from './placeholders.ts';

/** Words of names that hold secrets: `GITHUB_TOKEN`, `--api-key`, `X-Api-Key`. */
const SECRET_NAME =
  /(?:^|[^a-z])(?:(?:api|access|private|secret|auth|account|license)[-_]?key|key|apikey|token|secret|(?:pg)?passw(?:or)?d|passphrase|pwd|pat|auth|authorization|bearer|credentials?|cookie|dsn|connection[-_]?string)s?(?:$|[^a-z])/iu;
/** Last words of names that hold a fact about a secret: `MAX_TOKEN_COUNT`, `--token-limit`. */
const ABOUT_SECRETS = /[-_.](?:count|dir|file|id|limit|name|path|size|timeout|ttl|type|url)s?$/iu;
/** Beginnings of keys of well-known services, and JSON Web Tokens. */
const KNOWN_KEY =
  /^(?:sk-|pk-|rk_|sk_|ghp_|gho_|ghs_|ghu_|github_pat_|glpat-|xox[abprs]-|AKIA|ASIA|AIza|ya29\.|eyJ|npm_|hf_|pypi-|dop_v1_|lin_api_|ntn_|secret_|tvly-|fc-|pplx-|gsk_|r8_|SG\.|Bearer )/u;
const HAS_PASSWORD = /:\/\/[^/\s:@]*:[^/\s@]+@/u;
/** Long random text: letters and digits in one word. */
const RANDOM = /^(?=[^\s]*[0-9])(?=[^\s]*[A-Za-z])[A-Za-z0-9_+=-]{32,}$/u;

/** Splits words of different case, so that `apiKey` reads as `api-key`. */
const inWords = (name: string): string => name.replace(/(?<=[a-z0-9])(?=[A-Z])/gu, '-');

export const isSecretName = (name: string): boolean =>
  SECRET_NAME.test(inWords(name)) && !ABOUT_SECRETS.test(inWords(name));

export const looksLikeKey = (value: string): boolean =>
  KNOWN_KEY.test(value) || HAS_PASSWORD.test(value) || RANDOM.test(value);

/** Part of each warning about a secret that the resource itself contains. */
export const STAYS_READABLE = 'stays readable';

const WINDOWS_PATH = /^(?:[A-Za-z]:[\\/]|\\\\)/u;
const OPTION = /^--?([A-Za-z][\w.-]*)(?:=(.*))?$/su;
/** Header as an argument, such as `Authorization: Bearer ...`. */
const HEADER = /^([A-Za-z][\w-]*):\s*\S/u;

/** Shell, which replaces references in its script itself. */
const SHELL = /^command:\/\/(?:.*\/)?(?:ba|da|k|z)?sh$/u;

export const isShell = (image: string): boolean => SHELL.test(image);

/** Lists what is unusual about the arguments of an image: secrets, references and Windows paths. Never quotes a value. */
export function argumentWarnings(args: readonly string[], image = ''): string[] {
  return args.flatMap((arg, index) => {
    const place = `argument ${String(index + 1)}`;
    const references = isShell(image) ? [] : referencesIn(arg);
    if (references.length > 0)
      return `${place} contains ${references.join(' and ')}, which vmcp does not replace: write the value`;
    const name = secretIn(arg, args[index - 1]);
    if (name !== undefined) {
      return `${place}${name === '' ? '' : ` (${name})`} looks like a secret and ${STAYS_READABLE}, because an argument cannot come from a Secret: use an environment variable if the server reads one`;
    }
    return WINDOWS_PATH.test(arg) ? `${place} is a Windows path: write a path of this machine` : [];
  });
}

/** Returns the name of the secret in an argument, '' when it has none; undefined when there is no secret. */
function secretIn(arg: string, previous: string | undefined): string | undefined {
  const [, option, inline] = OPTION.exec(arg) ?? [];
  if (option !== undefined) {
    const isSecret = inline !== undefined && inline !== '' && (isSecretName(option) || looksLikeKey(inline));
    return isSecret ? `--${option}` : undefined;
  }
  const [, before, inlineBefore] = OPTION.exec(previous ?? '') ?? [];
  if (before !== undefined && inlineBefore === undefined && isSecretName(before)) return previous;
  const [, header] = HEADER.exec(arg) ?? [];
  if (header !== undefined && isSecretName(header)) return header;
  return looksLikeKey(arg) ? '' : undefined;
}

/** Returns true when the path or the query of a URL contains what looks like a key. */
export const hasSecret = ({ pathname, searchParams }: URL): boolean =>
  pathname.split('/').some(looksLikeKey) ||
  [...searchParams].some(([name, value]) => value !== '' && (isSecretName(name) || looksLikeKey(value)));
