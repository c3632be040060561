import { InvalidArgumentError, type Command } from 'commander';

/** Origins of pages that may call, such as that of a client in a browser. */
export interface OriginFlags {
  /** For the MCP endpoints. */
  readonly allowOrigin?: readonly string[];
  /** For the management API. */
  readonly allowApiOrigin?: readonly string[];
}

/** Adds the options of `OriginFlags`. */
export const withOriginOptions = (command: Command): Command =>
  command
    .option('--allow-origin <url>', 'let pages of this origin call the MCP endpoints; can be repeated', origins)
    .option('--allow-api-origin <url>', 'the same for the management API; can be repeated', origins);

/** Adds an origin, as browsers send it, to the others. @throws InvalidArgumentError for anything else */
function origins(text: string, others: readonly string[] | undefined): readonly string[] {
  const { protocol, origin, href } = URL.parse(text) ?? {};
  if (origin === undefined || !/^https?:$/u.test(protocol ?? '') || href !== `${origin}/`) {
    throw new InvalidArgumentError('must be an origin, such as http://localhost:6274.');
  }
  return [...(others ?? []), origin];
}
