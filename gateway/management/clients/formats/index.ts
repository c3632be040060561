import type { Client } from '../client.ts';
import type { Format } from './format.ts';
import { jsonc } from './jsonc.ts';
import { toml } from './toml.ts';
import { yaml } from './yaml.ts';

/** Syntax of each `Client.format`. */
export const FORMATS: Readonly<Record<Client['format'], Format>> = { jsonc, toml, yaml };
