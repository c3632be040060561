import type { Check } from '../check.ts';
import { clock } from './clock.ts';
import { containerEngine } from './container-engine.ts';
import { issuers } from './issuers.ts';
import { locale } from './locale.ts';
import { nodeVersion } from './node-version.ts';
import { npm } from './npm.ts';
import { managementPort, mcpPort } from './ports.ts';
import { python } from './python.ts';
import { servers } from './servers.ts';
import { stateFolder } from './state-folder.ts';
import { tools } from './tools.ts';

/** Checks in the order in which they are printed. To add one, write its file and add a line here. */
export const CHECKS: readonly Check[] = [
  nodeVersion,
  npm,
  python,
  containerEngine,
  servers,
  mcpPort,
  managementPort,
  stateFolder,
  issuers,
  clock,
  locale,
  tools,
];
