import { printable } from '../../gateway/contract/text/printable.ts';

/** Renders rows as columns that are two spaces apart, each cell without invisible characters. The first row is the header. */
export function renderTable(cells: readonly (readonly string[])[]): string[] {
  const rows = cells.map((row) => row.map(printable));
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

const DOTS = '...';

/** Shortens a text to `width` characters; the end of a longer one is replaced by three dots. */
export function cut(text: string, width: number): string {
  if (text.length <= width) return text;
  const start = text.slice(0, Math.max(0, width - DOTS.length)).replace(/[\ud800-\udbff]$/, '');
  return `${start.trimEnd()}${DOTS}`;
}

/** Part of a stream that says how wide its terminal is. */
export interface TerminalSize {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

const DEFAULT_COLUMNS = 80;

/** Returns the width of a terminal; undefined for a pipe or a file. Some terminals report 0 columns. */
export const columnsOf = ({ isTTY, columns }: TerminalSize): number | undefined =>
  isTTY === true ? columns || DEFAULT_COLUMNS : undefined;
