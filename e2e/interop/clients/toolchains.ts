import { copyFile, cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { installed, runInstaller, uvEnvironment, type Lab } from '../lab.ts';
import type { ClientEntry, Toolchain } from './registry.ts';

const PROGRAMS = join(import.meta.dirname, 'programs');

/** A client that can be started: the URL of the gateway follows the command. */
export interface Program {
  readonly folder: string;
  readonly command: readonly string[];
}

type Of<Name extends string> = Extract<Toolchain, Readonly<Record<Name, unknown>>>;
/** Writes the files of a client into `folder`, installs its packages there and returns its command. */
type Install<Name extends string> = (folder: string, name: string, spec: Of<Name>, lab: Lab) => Promise<void>;

const npm: Install<'npm'> = async (folder, name, { npm: packages }) => {
  await writeFile(join(folder, 'package.json'), '{"private":true,"type":"module"}');
  await copyFile(join(PROGRAMS, `${name}.mjs`), join(folder, 'client.mjs'));
  await runInstaller(folder, [
    'npm',
    'install',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    '--save-exact',
    ...packages,
  ]);
};

const python: Install<'python'> = async (folder, name, { python: requirements }, lab) => {
  const env = await uvEnvironment(lab);
  await copyFile(join(PROGRAMS, `${name}.py`), join(folder, 'client.py'));
  await runInstaller(folder, ['uv', 'venv', '--quiet', '.venv'], env);
  await runInstaller(folder, ['uv', 'pip', 'install', '--quiet', '--python', '.venv/bin/python', ...requirements], env);
};

const go: Install<'go'> = async (folder, name, { go: module }) => {
  await cp(join(PROGRAMS, name), folder, { recursive: true });
  await runInstaller(folder, ['go', 'mod', 'init', 'interop']);
  await runInstaller(folder, ['go', 'get', module]);
  await runInstaller(folder, ['go', 'mod', 'tidy']);
  await runInstaller(folder, ['go', 'build', '-o', 'client', '.']);
};

const cargo: Install<'cargo'> = async (folder, name, { cargo: dependencies }) => {
  await mkdir(join(folder, 'src'));
  await cp(join(PROGRAMS, name), join(folder, 'src'), { recursive: true });
  const head = ['[package]', 'name = "client"', 'version = "0.0.0"', 'edition = "2024"'];
  const text = [...head, '[dependencies]', ...dependencies, '[profile.dev]', 'debug = false', ''].join('\n');
  await writeFile(join(folder, 'Cargo.toml'), text);
  await runInstaller(folder, ['cargo', 'build', '--quiet']);
};

const maven: Install<'maven'> = async (folder, name, spec) => {
  const sources = join(folder, 'src', 'main', 'java');
  await mkdir(sources, { recursive: true });
  await cp(join(PROGRAMS, name), sources, { recursive: true });
  await writeFile(join(folder, 'pom.xml'), pomOf(spec.maven, spec.boot));
  const path = ['dependency:build-classpath', '-Dmdep.outputFile=classpath'];
  await runInstaller(folder, ['mvn', '--quiet', '--batch-mode', 'compile', ...path]);
};

/** Returns the build of a program in one file, as a child of Spring Boot's build where one is named. */
export function pomOf(coordinates: readonly string[], boot?: string): string {
  const parts = coordinates.map((coordinate) => coordinate.split(':'));
  const dependencies = parts.map(([groupId, artifactId, version]) => {
    const versionTag = version === undefined ? '' : `<version>${version}</version>`;
    return `<dependency><groupId>${groupId}</groupId><artifactId>${artifactId}</artifactId>${versionTag}</dependency>`;
  });
  const parent = `<parent><groupId>org.springframework.boot</groupId><artifactId>spring-boot-starter-parent</artifactId><version>${boot}</version></parent>`;
  return [
    '<project xmlns="http://maven.apache.org/POM/4.0.0">',
    '<modelVersion>4.0.0</modelVersion>',
    ...(boot === undefined ? [] : [parent]),
    '<groupId>interop</groupId><artifactId>client</artifactId><version>1</version>',
    '<properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target></properties>',
    `<dependencies>${dependencies.join('')}</dependencies>`,
    '</project>',
    '',
  ].join('\n');
}

/** Installs a client and returns its command. */
export async function installClient(lab: Lab, { name, toolchain }: ClientEntry): Promise<Program> {
  const key = `${JSON.stringify(toolchain)}\n${await textOf(name)}`;
  const folder = await installed(lab, join('clients', name), key, async (place) => {
    if ('npm' in toolchain) await npm(place, name, toolchain, lab);
    else if ('python' in toolchain) await python(place, name, toolchain, lab);
    else if ('go' in toolchain) await go(place, name, toolchain, lab);
    else if ('cargo' in toolchain) await cargo(place, name, toolchain, lab);
    else await maven(place, name, toolchain, lab);
  });
  return { folder, command: await commandOf(toolchain, folder) };
}

async function commandOf(toolchain: Toolchain, folder: string): Promise<string[]> {
  if ('npm' in toolchain) return [process.execPath, 'client.mjs'];
  if ('python' in toolchain) return ['.venv/bin/python', 'client.py'];
  if ('go' in toolchain) return ['./client'];
  if ('cargo' in toolchain) return ['target/debug/client'];
  const classpath = (await readFile(join(folder, 'classpath'), 'utf8')).trim();
  return ['java', '-XX:TieredStopAtLevel=1', '-cp', `target/classes:${classpath}`, 'interop.Main'];
}

/** Returns the text of a program, so that an edit installs it again. */
async function textOf(name: string): Promise<string> {
  const single = ['.mjs', '.py'].map((extension) => join(PROGRAMS, name + extension)).find((path) => existsSync(path));
  if (single !== undefined) return readFile(single, 'utf8');
  const files = (await readdir(join(PROGRAMS, name))).toSorted();
  return (await Promise.all(files.map((file) => readFile(join(PROGRAMS, name, file), 'utf8')))).join('\n');
}
