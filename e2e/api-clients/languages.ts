import { execFile, spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { delimiter, dirname } from 'node:path';
import { promisify } from 'node:util';
import { clusterFile } from '../harness/control-plane/binaries.ts';
import { hasPython, python } from '../harness/python.ts';
import { pomOf } from '../interop/clients/toolchains.ts';

/** File in the folder of a client from which it is generated. */
export const DOCUMENT = 'openapi.json';
const BUILD_MS = 240_000;

/** Runs a program in the folder of a client. */
type RunThere = (file: string, ...args: readonly string[]) => Promise<void>;

/** Language in which a generator of others writes a client from the OpenAPI document. */
export interface Language {
  readonly name: string;
  /** File in `programs/`. Its arguments are the URL of the API and that of an MCP server; it prints what the API answered as JSON. */
  readonly program: string;
  /** False on a machine without its compiler; `make test` then prints `not applicable`. */
  readonly isInstalled: boolean;
  /** Generates the client from the document in `folder` and compiles it with the program. */
  build(folder: string, run: RunThere): Promise<void>;
  /** Command that runs the program in its folder. */
  command(): Promise<readonly string[]>;
}

const runs = (file: string, flag: string): boolean => spawnSync(file, [flag]).status === 0;

/** Go of the machine, or, on a machine without Go, that of e2e/cluster/build.sh. */
const GO = runs('go', 'version') ? 'go' : clusterFile('go/bin/go');

const OPENAPI_GENERATOR = '7.25.0';
/** Packages that the generated client in Java imports, at the versions of its generated pom.xml. */
const JAVA_PACKAGES = [
  'com.fasterxml.jackson.datatype:jackson-datatype-jsr310:2.21.5',
  'com.google.code.findbugs:jsr305:3.0.2',
  'jakarta.annotation:jakarta.annotation-api:1.3.5',
];
/** Compiling for a program of one second takes longer than it saves. */
const SHORT_JVM = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];

export const LANGUAGES: readonly Language[] = [
  {
    name: 'TypeScript',
    program: 'client.mjs',
    isInstalled: true,
    async build(folder, run) {
      await writeFile(`${folder}/package.json`, '{"private":true,"type":"module"}');
      const packages = ['openapi-typescript@7.13.0', 'openapi-fetch@0.17.0', 'typescript@5.9.3', '@types/node@24.19.2'];
      await run('npm', 'install', '--no-audit', '--no-fund', '--loglevel=error', ...packages);
      await run('node_modules/.bin/openapi-typescript', DOCUMENT, '-o', 'schema.d.ts');
      const strict = ['--noEmit', '--allowJs', '--checkJs', '--strict', '--noUncheckedIndexedAccess'];
      const target = ['--target', 'es2024', '--module', 'nodenext', '--types', 'node'];
      await run('node_modules/.bin/tsc', ...strict, ...target, 'client.mjs');
    },
    command: async () => [process.execPath, 'client.mjs'],
  },
  {
    name: 'Python',
    program: 'client.py',
    isInstalled: hasPython,
    async build(folder, run) {
      await writeFile(`${folder}/generator.yaml`, 'post_hooks: []\n'); // they format what nobody reads
      const generate = ['generate', '--path', DOCUMENT, '--meta', 'none', '--output-path', 'vmcp_api'];
      const generator = `${dirname(await python())}/openapi-python-client`;
      await run(generator, ...generate, '--config', 'generator.yaml', '--fail-on-warning');
    },
    command: async () => [await python(), 'client.py'],
  },
  {
    name: 'Go',
    program: 'main.go',
    isInstalled: GO !== undefined,
    async build(_folder, run) {
      const go = (...args: readonly string[]) => run(GO ?? 'go', ...args);
      await run('mkdir', 'api');
      await go('mod', 'init', 'client');
      const generator = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2';
      await go('run', generator, '-generate', 'types,client', '-package', 'api', '-o', 'api/api.go', DOCUMENT);
      await go('get', 'github.com/oapi-codegen/runtime@v1.9.0');
      await go('build', '-o', 'client', '.');
    },
    command: async () => ['./client'],
  },
  {
    name: 'Java',
    program: 'Main.java',
    isInstalled: runs('javac', '-version') && runs('mvn', '-version'),
    async build(folder, run) {
      const generator = `openapi-generator-cli-${OPENAPI_GENERATOR}.jar`;
      const artifact = `org.openapitools:openapi-generator-cli:${OPENAPI_GENERATOR}`;
      const maven = ['--quiet', '--batch-mode'];
      await writeFile(`${folder}/pom.xml`, pomOf(JAVA_PACKAGES));
      await run('mvn', ...maven, 'dependency:copy', `-Dartifact=${artifact}`, '-DoutputDirectory=.');
      await run('mvn', ...maven, 'dependency:copy-dependencies', '-DoutputDirectory=lib');
      const parts = ['--global-property', 'apis,models,supportingFiles,apiTests=false,modelTests=false'];
      const options = ['-g', 'java', '--library', 'native', '-p', 'openApiNullable=false', '-i', DOCUMENT, '-o', '.'];
      await run('java', ...SHORT_JVM, '-jar', generator, 'generate', ...options, ...parts);
      const compiler = [...SHORT_JVM.map((option) => `-J${option}`), '-nowarn', '-proc:none', '-d', 'classes'];
      await run('javac', ...compiler, '-cp', 'lib/*', '-sourcepath', 'src/main/java', 'Main.java');
    },
    command: async () => ['java', ...SHORT_JVM, '-cp', `classes${delimiter}lib/*`, 'Main'],
  },
];

/** Compiles as e2e/cluster/build.sh does: Go keeps the packages that it has compiled with the same settings. */
const GO_ENV = { CGO_ENABLED: '0', GOFLAGS: '-mod=mod -trimpath -buildvcs=false', GOWORK: 'off' };

/** Returns a function that runs programs in `folder`. It throws an error with the end of their output. */
export const runIn =
  (folder: string): RunThere =>
  async (file, ...args) => {
    const limits = { timeout: BUILD_MS, maxBuffer: 64 * 1024 * 1024 };
    try {
      await promisify(execFile)(file, args, { cwd: folder, env: { ...process.env, ...GO_ENV }, ...limits });
    } catch (error) {
      const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
      const output = `${stdout}\n${stderr}`.trim().slice(-3_000);
      throw new Error(`${file} ${args.join(' ')} failed:\n${output}`, { cause: error });
    }
  };
