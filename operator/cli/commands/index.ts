import type { Command } from 'commander';
import { addCommand } from './add.ts';
import { callCommand } from './call.ts';
import { completionCommand } from './completion.ts';
import { connectCommand } from './connect.ts';
import { doctorCommand } from './doctor.ts';
import { explainCommand } from './explain.ts';
import { gatewayCommand } from './gateway.ts';
import { importCommand } from './import.ts';
import { initCommand } from './init.ts';
import { operatorCommand } from './operator.ts';
import { removeCommand } from './remove.ts';
import { renderCommand } from './render.ts';
import { serveCommand } from './serve.ts';
import { statusCommand } from './status.ts';
import { toolsCommand } from './tools.ts';
import { upCommand } from './up.ts';
import { validateCommand } from './validate.ts';
import { versionCommand } from './version.ts';

/** Commands in the order of the help. To add one, write its file and add a line here. */
export const COMMANDS: readonly Command[] = [
  upCommand,
  initCommand,
  importCommand,
  addCommand,
  removeCommand,
  statusCommand,
  toolsCommand,
  callCommand,
  doctorCommand,
  validateCommand,
  renderCommand,
  explainCommand,
  connectCommand,
  serveCommand,
  gatewayCommand,
  operatorCommand,
  completionCommand,
  versionCommand,
];
