/** Part of a text that a client replaces by something else. */
export interface Placeholder {
  /** The placeholder for messages. A default value is not shown, because it may be secret. */
  readonly shown: string;
  /** Environment variable that the client reads; absent for inputs, files and folders of an editor. */
  readonly variable?: string;
  /** Value that the client takes when the variable is not set. */
  readonly fallback?: string;
}

/** A form of placeholders. The named groups are `variable`, `fallback` and `inner`. */
interface Form {
  readonly pattern: string;
  /** Form of a whole value, where it differs from the form inside of a longer text. */
  readonly whole?: string;
}

/**
 * Forms of placeholders in clients' files; docs/local-mode.md lists the forms of each client. Inside of a longer text
 * `$NAME` and `%NAME%` need capitals, because passwords contain `$` and URLs contain `%20`.
 */
const FORMS: readonly Form[] = [
  { pattern: String.raw`\$\{\{[^{}]*\}\}` },
  { pattern: String.raw`\$\{(?<inner>(?:[^{}]|\$\{[^{}]*\})*)\}` },
  { pattern: String.raw`\{env:(?<variable>[A-Za-z_]\w*)\}` },
  { pattern: String.raw`\{file:[^{}]*\}` },
  { pattern: String.raw`(?<![$\\])\$env:(?<variable>[A-Za-z_]\w*)` },
  {
    pattern: String.raw`(?<![$\\])\$(?<variable>[A-Z_][A-Z0-9_]+)(?!\w)`,
    whole: String.raw`\$(?<variable>[A-Za-z_]\w+)`,
  },
  {
    pattern: String.raw`%(?<variable>[A-Z_][A-Z0-9_]{2,})%`,
    whole: String.raw`%(?<variable>[A-Za-z_]\w{2,})%`,
  },
];

const ANYWHERE = FORMS.map(({ pattern }) => new RegExp(pattern, 'gu'));
const WHOLE = FORMS.map(({ pattern, whole = pattern }) => new RegExp(`^${whole}$`, 'u'));

const INNER = /^(?:env:)?(?<variable>[A-Za-z_]\w*)(?::-(?<fallback>.*))?$/su;

/** Variables of editors that are no environment variables. */
const OF_EDITORS =
  /^(?:workspaceFolder(?:Basename)?|workspaceRoot|userHome|pathSeparator|cwd|execPath|projectPath|selectedText|lineNumber|columnNumber|defaultBuildTask|(?:relativeF|f)ile\w*)$/u;

function placeholderOf(match: RegExpExecArray): Placeholder {
  const [text] = match;
  const { inner, variable } = match.groups ?? {};
  if (inner === undefined) return { shown: text, ...(variable !== undefined && { variable }) };
  const { variable: name, fallback } = INNER.exec(inner)?.groups ?? {};
  const shown = fallback ? `${text.slice(0, text.indexOf(':-'))}:-...}` : text;
  if (name === undefined || (OF_EDITORS.test(name) && !inner.startsWith('env:'))) return { shown };
  return { shown, variable: name, ...(fallback !== undefined && !fallback.includes('${') && { fallback }) };
}

/** Returns the placeholder that is the whole text. */
export function wholePlaceholder(text: string): Placeholder | undefined {
  const match = WHOLE.map((form) => form.exec(text)).find((found) => found !== null);
  return match ? placeholderOf(match) : undefined;
}

interface Place {
  readonly start: number;
  readonly end: number;
  readonly placeholder: Placeholder;
}

function placesIn(text: string): Place[] {
  const whole = wholePlaceholder(text);
  if (whole) return [{ start: 0, end: text.length, placeholder: whole }];
  const places: Place[] = [];
  for (const form of ANYWHERE) {
    for (const match of text.matchAll(form)) {
      const { index: start } = match;
      const end = start + match[0].length;
      if (places.every((place) => end <= place.start || start >= place.end))
        places.push({ start, end, placeholder: placeholderOf(match) });
    }
  }
  return places.toSorted((one, other) => one.start - other.start);
}

/** Returns the placeholders in a text, in their order. */
export const placeholdersIn = (text: string): Placeholder[] => placesIn(text).map(({ placeholder }) => placeholder);

/** Replaces the placeholders for which `valueOf` has a value. */
export function replaced(text: string, valueOf: (placeholder: Placeholder) => string | undefined): string {
  let result = '';
  let at = 0;
  for (const { start, end, placeholder } of placesIn(text)) {
    result += text.slice(at, start) + (valueOf(placeholder) ?? text.slice(start, end));
    at = end;
  }
  return result + text.slice(at);
}

/** Replaces the placeholders that have a default, unless it is empty. */
export const withFallbacks = (text: string): string => replaced(text, ({ fallback }) => fallback || undefined);

/** Returns the placeholders of a text for messages, such as `${input:token}`. */
export const referencesIn = (text: string): string[] => placeholdersIn(text).map(({ shown }) => shown);
