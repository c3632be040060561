/** Colours of a terminal with 8 colours (ECMA-48, SGR 30 to 37 and 90 to 97); `bright-black` is grey. */
const COLORS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'] as const;
export type Color = (typeof COLORS)[number] | 'bright-black';

export interface Style {
  readonly color?: Color;
  readonly isBold?: true;
  readonly isDim?: true;
}

/** Characters in a row with the same style. */
export interface Span {
  readonly text: string;
  readonly style: Style;
}

export type Line = readonly Span[];

interface Cell {
  readonly character: string;
  readonly style: Style;
}

interface Screen {
  readonly columns: number;
  readonly rows: Cell[][];
  row: number;
  column: number;
  style: Style;
}

const ESC = '\u001b';
/** One control sequence, one control character, or text. */
const TOKEN = new RegExp(
  `${ESC}\\[([\\d;?]*)([@-~])|${ESC}\\][^\u0007${ESC}]*(?:\u0007|${ESC}\\\\)|${ESC}.|[\r\n\b]|[^${ESC}\r\n\b]+`,
  'gu',
);
const PLAIN: Style = {};
const BLANK: Cell = { character: ' ', style: PLAIN };

/**
 * Returns the lines that a terminal shows after this output. It knows what programs of the first minute send: colours,
 * a spinner that returns to the start of its line, and erased lines.
 */
export function terminalLines(output: string, columns: number): Line[] {
  const screen: Screen = { columns, rows: [], row: 0, column: 0, style: PLAIN };
  for (const [token, parameters, command] of output.matchAll(TOKEN)) {
    if (command !== undefined) control(screen, command, parameters ?? '');
    else if (token === '\r') screen.column = 0;
    else if (token === '\n') screen.row += 1;
    else if (token === '\b') screen.column = Math.max(0, screen.column - 1);
    else if (!token.startsWith(ESC)) print(screen, token);
  }
  const lines = Array.from(screen.rows, (cells: Cell[] | undefined) => spansOf(cells ?? []));
  return lines.slice(0, lines.findLastIndex((line) => line.length > 0) + 1);
}

function print(screen: Screen, text: string): void {
  for (const character of text) {
    if (screen.column === screen.columns) {
      screen.row += 1;
      screen.column = 0;
    }
    const cells = (screen.rows[screen.row] ??= []);
    while (cells.length < screen.column) cells.push(BLANK);
    cells[screen.column] = { character, style: screen.style };
    screen.column += 1;
  }
}

function control(screen: Screen, command: string, parameters: string): void {
  const count = Number(parameters);
  if (command === 'm') screen.style = parameters.split(';').map(Number).reduce(restyle, screen.style);
  if (command === 'G') screen.column = Math.max(1, count) - 1;
  if (command === 'A') screen.row = Math.max(0, screen.row - Math.max(1, count));
  if (command === 'K') screen.rows[screen.row]?.splice(count === 0 ? screen.column : 0);
}

function restyle(style: Style, code: number): Style {
  if (code === 0) return PLAIN;
  if (code === 1) return { ...style, isBold: true };
  if (code === 2) return { ...style, isDim: true };
  if (code === 22) return style.color === undefined ? PLAIN : { color: style.color };
  if (code === 39) return { ...(style.isBold && { isBold: true }), ...(style.isDim && { isDim: true }) };
  const color = code === 90 ? 'bright-black' : COLORS[code >= 90 ? code - 90 : code - 30];
  return color === undefined ? style : { ...style, color };
}

/** Joins cells of the same style; blanks at the end of the line are left out. */
function spansOf(cells: readonly Cell[]): Line {
  const end = cells.findLastIndex(({ character }) => character !== ' ') + 1;
  const spans: Span[] = [];
  for (const { character, style } of cells.slice(0, end)) {
    const last = spans.at(-1);
    if (last !== undefined && isSame(last.style, style)) spans.splice(-1, 1, { text: last.text + character, style });
    else spans.push({ text: character, style });
  }
  return spans;
}

const isSame = (one: Style, other: Style): boolean =>
  one.color === other.color && one.isBold === other.isBold && one.isDim === other.isDim;
