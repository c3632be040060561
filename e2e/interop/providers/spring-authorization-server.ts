import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '../../harness/poll.ts';
import { runCommand, temporaryFolder, writeFiles } from '../../harness/vmcp.ts';
import { pomOf } from '../clients/toolchains.ts';
import { installed, runInstaller } from '../lab.ts';
import type { Provider } from './provider.ts';

const BOOT = '4.1.2';
const STARTER = 'org.springframework.boot:spring-boot-starter-security-oauth2-authorization-server';
const PROGRAM = join(import.meta.dirname, 'spring-authorization-server', 'Server.java');

/** A program of one class with Spring Boot's authorization server. */
export const springAuthorizationServer: Provider = {
  name: 'spring-authorization-server',
  title: 'Spring Authorization Server',
  version: '7.1.2',
  issuer: 'http://127.0.0.1:9000',
  user: { name: 'alice', password: 'password' },
  login: { clientId: 'mcp-client', scope: 'openid profile mcp' },
  otherLogin: { clientId: 'mcp-client', scope: 'openid' },
  lacks: {},
  exchangedAudience: 'orders',
  exchangeMistake: { correct: 'audience: orders', wrong: 'scopes: [nothing]', says: 'invalid_scope' },
  async start(lab, { at, file, port }) {
    const key = `${BOOT}\n${await readFile(PROGRAM, 'utf8')}`;
    const folder = await installed(lab, 'spring-authorization-server', key, async (place) => {
      const sources = join(place, 'src', 'main', 'java');
      await mkdir(sources, { recursive: true });
      await copyFile(PROGRAM, join(sources, 'Server.java'));
      await writeFile(join(place, 'pom.xml'), pomOf([STARTER], BOOT));
      const path = ['dependency:build-classpath', '-Dmdep.outputFile=classpath'];
      await runInstaller(place, ['mvn', '--quiet', '--batch-mode', 'compile', ...path]);
    });
    const sources = await file('Server.java');
    const settings = await temporaryFolder(lab.scope);
    await writeFiles(settings, { 'application.yaml': await file('application.yaml'), 'Server.java': sources });
    const classpath = (await readFile(join(folder, 'classpath'), 'utf8')).trim();
    await runInstaller(settings, ['javac', '-proc:none', '-cp', classpath, '-d', '.', 'Server.java']); // with the ports of the run
    const java = [
      'java',
      '-XX:TieredStopAtLevel=1',
      '-cp',
      `.:${classpath}`,
      'interop.Server',
      `--server.port=${String(port)}`,
    ];
    const run = await runCommand(lab.scope, java, { cwd: settings });
    const url = `${at(springAuthorizationServer.issuer)}/.well-known/openid-configuration`;
    const answers = async () => (run.running() ? (await fetch(url)).ok : Promise.reject(new Error(run.output())));
    await eventually('Spring Authorization Server answers', answers, { timeoutMs: 120_000, intervalMs: 500 });
  },
};
