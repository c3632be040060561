import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { BackendProcess } from '../../../../contract/gateway-config.ts';
import { installerEnvironment, readEnvironmentFiles, type Environment } from '../../environment.ts';

/**
 * Variables that only installers and their scripts read, as users of `npx` and `uvx` write them into the environment of a server. Those that
 * name a place to download from are left out: a registry entry could set them.
 */
const isDeclared = (name: string): boolean =>
  /^UV_PYTHON(?:_PREFERENCE|_DOWNLOADS)?$/u.test(name) || (/^[A-Z0-9_]+$/u.test(name) && skipsStep(name));
/** The same in the environment of vmcp, with the places that the user has chosen. */
const isOfHost = (name: string): boolean =>
  /^(?:UV_PYTHON|PUPPETEER_|PLAYWRIGHT_|CYPRESS_|ELECTRON_|CHROMEDRIVER_)/u.test(name) || skipsStep(name);
/** Returns true for `NAME_SKIP_..._DOWNLOAD` and the like. */
const skipsStep = (name: string): boolean =>
  name.includes('_SKIP_') && /_(?:DOWNLOADS?|INSTALL|POSTINSTALL)$/u.test(name);

/** Installation of a package. The name of its folder depends on everything that changes its content. */
export interface Installation {
  /** Environment of npm, pip and uv. */
  readonly env: Readonly<Record<string, string>>;
  /** Additional packages. */
  readonly extra: readonly string[];
  /** End of the folder's name; empty for a package without choices. */
  readonly suffix: string;
}

/** File that a complete installation contains. */
export const markerOf = (dir: string): string => join(dir, '.complete');

export const isComplete = (dir: string): boolean => existsSync(markerOf(dir));

/** Reads the choices about an installation. @throws LaunchError `EnvironmentFileUnreadable` */
export function installationOf(process: BackendProcess, hostEnv: Environment): Installation {
  const { package: choices = {}, env_vars = {}, env_var_files = {} } = process;
  const chosen = {
    ...picked(env_vars, isDeclared),
    ...readEnvironmentFiles(picked(env_var_files, isDeclared)),
    ...choices.install_env,
  };
  const { python, with: extra = [] } = choices;
  const isPlain = Object.keys(chosen).length === 0 && extra.length === 0 && python === undefined;
  return {
    env: { ...withPip({ ...installerEnvironment(hostEnv), ...picked(hostEnv, isOfHost) }), ...withPip(chosen) },
    extra,
    suffix: isPlain ? '' : `+${digestOf([Object.entries(chosen).toSorted(), extra, python ?? ''])}`,
  };
}

/** Variables of uv by which pip reads the same place of packages. Several belong to one variable of pip: the first that is set counts. */
const OF_PIP = {
  PIP_INDEX_URL: ['UV_DEFAULT_INDEX', 'UV_INDEX_URL'],
  PIP_EXTRA_INDEX_URL: ['UV_INDEX', 'UV_EXTRA_INDEX_URL'],
  PIP_FIND_LINKS: ['UV_FIND_LINKS'],
} as const;

/** Adds the variables of pip, which stands in where uv is missing: packages come from the same place. */
function withPip(env: Readonly<Record<string, string>>): Record<string, string> {
  const ofUv = Object.entries(OF_PIP).flatMap(([name, names]) => {
    const value = names.map((each) => env[each]).find((text) => text !== undefined && text !== '');
    // A name may precede each index: NAME=URL.
    return value === undefined ? [] : [[name, value.replaceAll(/(?<!\S)[\w.-]+=(?=\S)/gu, '')] as const];
  });
  return { ...Object.fromEntries(ofUv), ...env };
}

function picked(values: Environment, isPicked: (name: string) => boolean): Record<string, string> {
  const found = Object.entries(values).filter(([name]) => isPicked(name));
  return Object.fromEntries(found.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

const digestOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 12);
